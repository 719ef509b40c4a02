// `holdfast items put`: writes one item.
#ifndef HOLDFAST_CLI_ITEMS_PUT_H_
#define HOLDFAST_CLI_ITEMS_PUT_H_

#include "cli/session_command.h"

namespace holdfast::cli {

// Adds `items put`.
void AddItemsPut(CLI::App& items, const SessionCommandPtr& command);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEMS_PUT_H_
