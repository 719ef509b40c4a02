// `holdfast health`: whether a server serves, and what it is.
#ifndef HOLDFAST_CLI_HEALTH_H_
#define HOLDFAST_CLI_HEALTH_H_

#include "cli/cli11_names.h"
#include "cli/invocation.h"

namespace holdfast::cli {

// Both must live until the command has run.
void AddHealthCommand(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_HEALTH_H_
