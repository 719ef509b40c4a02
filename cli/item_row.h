// Items as rows of a table and as JSON.
#ifndef HOLDFAST_CLI_ITEM_ROW_H_
#define HOLDFAST_CLI_ITEM_ROW_H_

#include "cli/item_pages.h"
#include "cli/table.h"

#include "nlohmann/json.hpp"

namespace holdfast::cli {

Row ItemHeading();
// Of items of several sessions, whose rows begin with the session.
Row GroupItemHeading();
// Data that is text is shown shortened, other data as its size alone, damaged data as `[damaged]`.
Row ItemRow(const ItemEntry& entry);

// The item as the proto has it, with its size and whether it is damaged, behind the session of an
// item of a group.
nlohmann::ordered_json ItemJson(const ItemEntry& entry);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEM_ROW_H_
