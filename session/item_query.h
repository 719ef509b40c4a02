// What is read of a session's items.
#ifndef HOLDFAST_SESSION_ITEM_QUERY_H_
#define HOLDFAST_SESSION_ITEM_QUERY_H_

#include "session/ids.h"
#include "session/item.h"
#include "session/limits.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Of one collection: these keys, or a range.
struct ItemQuery {
  std::string collection;
  std::vector<std::string> keys;  // ascending, each once; empty: the range
  KeyRange range;
  bool descending = false;           // the order of the pages, and of the items in them
  std::optional<std::string> after;  // only behind this key, in that order
  ItemLabels labels;                 // only items that have all of them
  bool data = false;                 // else only its size
  // Of a read by labels: how many items the page looks at; from 1 to kItemsLookedAt.
  uint32_t look_most = kItemsLookedAt;
};

struct ItemView {
  Item item;
  uint64_t size = 0;     // of its data
  bool damaged = false;  // its data, or all but its name, cannot be read; they are empty
};

struct ItemPage {
  SessionUid uid;  // of the session that it was read of
  std::vector<ItemView> items;
  // The last key that was looked at, behind which the next page begins; nullopt: none was.
  std::optional<std::string> last;
  uint64_t looked_at = 0;     // items up to `last`, with those that have not the labels
  bool end = false;           // nothing is behind `last`
  ItemVersion items_version;  // of the session, when the page was read
};

// Whether an item has all of these labels, with type and value.
bool HasLabels(const Item& item, const ItemLabels& wanted);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_ITEM_QUERY_H_
