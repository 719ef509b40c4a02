// Pages of items as a stream of ReadItems brings them, each item whole.
#ifndef HOLDFAST_CLI_ITEM_PAGES_H_
#define HOLDFAST_CLI_ITEM_PAGES_H_

#include "holdfast/v1/items.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::cli {

struct ItemEntry {
  v1::Item item;
  int64_t size = 0;      // of its data, which `item` may be without
  bool damaged = false;  // what is stored cannot be read; `item` has its name
  // The session that has it, where the items are those of a group.
  std::string session_id;
  std::string session_uid;
};

struct ItemEntryPage {
  std::vector<ItemEntry> items;
  v1::ReadItemsResponse end;  // how the page ended; without pieces

  // Takes one response of the stream, whose pieces are moved from: a piece begins an item, or is a
  // further part of the last one. False when a part is not the one that follows.
  bool Add(v1::ReadItemsResponse& response);
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEM_PAGES_H_
