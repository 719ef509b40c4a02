// `holdfast items list`: the items of a collection, in the order of their keys.
#ifndef HOLDFAST_CLI_ITEMS_LIST_H_
#define HOLDFAST_CLI_ITEMS_LIST_H_

#include "cli/item_list_writer.h"
#include "cli/session_command.h"

namespace holdfast::cli {

// Which items of which session, from the page token of `request` on. Where `request` has a group,
// `target` names no session.
struct ItemSelection {
  Target target;
  v1::ReadItemsRequest request;  // without the session
  uint64_t limit = 0;            // 0: all
};

// Reads the items page by page and writes them. Returns how to exit as far as the calls are
// concerned.
ExitCode WriteItems(const SessionCommand& command, const ItemSelection& wanted,
                    ItemListWriter& writer);

// Adds `items list`.
void AddItemsList(CLI::App& items, const SessionCommandPtr& command);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEMS_LIST_H_
