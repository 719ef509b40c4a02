// `holdfast items ...`: the keyed records of a session.
#ifndef HOLDFAST_CLI_ITEMS_COMMANDS_H_
#define HOLDFAST_CLI_ITEMS_COMMANDS_H_

#include "cli/cli11_names.h"
#include "cli/invocation.h"

namespace holdfast::cli {

// Both must live until the command has run.
void AddItemsCommands(CLI::App& app, Invocation& invocation);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEMS_COMMANDS_H_
