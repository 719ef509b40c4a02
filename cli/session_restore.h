// `holdfast session restore`: takes a session back to a point of its past.
#ifndef HOLDFAST_CLI_SESSION_RESTORE_H_
#define HOLDFAST_CLI_SESSION_RESTORE_H_

#include "cli/cli11_names.h"
#include "cli/session_command.h"

namespace holdfast::cli {

// Adds the command to the group `session`.
void AddRestore(CLI::App& session, const SessionCommandPtr& command);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SESSION_RESTORE_H_
