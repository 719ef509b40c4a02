// `holdfast items get`: items by their keys.
#ifndef HOLDFAST_CLI_ITEMS_GET_H_
#define HOLDFAST_CLI_ITEMS_GET_H_

#include "cli/session_command.h"

namespace holdfast::cli {

// Adds `items get`.
void AddItemsGet(CLI::App& items, const SessionCommandPtr& command);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEMS_GET_H_
