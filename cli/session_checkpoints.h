// `holdfast session checkpoint` and `holdfast session checkpoints`: snapshots that stay readable.
#ifndef HOLDFAST_CLI_SESSION_CHECKPOINTS_H_
#define HOLDFAST_CLI_SESSION_CHECKPOINTS_H_

#include "cli/cli11_names.h"
#include "cli/session_command.h"

namespace holdfast::cli {

// Adds both commands to the group `session`.
void AddCheckpoints(CLI::App& session, const SessionCommandPtr& command);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SESSION_CHECKPOINTS_H_
