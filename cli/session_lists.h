// The commands that list: sessions, and the messages, journal entries, audit records and slots of
// one session.
#ifndef HOLDFAST_CLI_SESSION_LISTS_H_
#define HOLDFAST_CLI_SESSION_LISTS_H_

#include "cli/session_command.h"

namespace holdfast::cli {

// Adds `session list`.
void AddSessionList(CLI::App& session, const SessionCommandPtr& command);

// Adds `session messages`, `session journal`, `session audit` and `session slots`.
void AddContentLists(CLI::App& session, const SessionCommandPtr& command);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_SESSION_LISTS_H_
