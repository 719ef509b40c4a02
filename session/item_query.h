// What is read of a session's items.
#ifndef HOLDFAST_SESSION_ITEM_QUERY_H_
#define HOLDFAST_SESSION_ITEM_QUERY_H_

#include "session/ids.h"
#include "session/item.h"

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
  bool end = false;           // nothing is behind `last`
  ItemVersion items_version;  // of the session, when the page was read
};

// Whether an item has all of these labels, with type and value.
bool HasLabels(const Item& item, const ItemLabels& wanted);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_ITEM_QUERY_H_
