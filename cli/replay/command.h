// `holdfast replay`: drives recorded conversations through the API, and compares what is stored.
#ifndef HOLDFAST_CLI_REPLAY_COMMAND_H_
#define HOLDFAST_CLI_REPLAY_COMMAND_H_

#include "cli/cli11_names.h"
#include "cli/invocation.h"

namespace holdfast::cli {

// Both must live until the command has run.
void AddReplayCommand(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_COMMAND_H_
