// `holdfast store ...`: what the active store is, and whether it and its chains are sound.
#ifndef HOLDFAST_CLI_STORE_COMMANDS_H_
#define HOLDFAST_CLI_STORE_COMMANDS_H_

#include "cli/cli11_names.h"
#include "cli/invocation.h"

namespace holdfast::cli {

void AddStoreCommands(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_STORE_COMMANDS_H_
