// What the reference store makes of writes of items: C249 to C269, over a map of them.
#ifndef HOLDFAST_TESTS_SUPPORT_REFERENCE_ITEMS_H_
#define HOLDFAST_TESTS_SUPPORT_REFERENCE_ITEMS_H_

#include "session/item.h"
#include "session/item_query.h"
#include "session/item_writes.h"
#include "session/refusal.h"
#include "session/store_reads.h"

#include "absl/time/time.h"

#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::test {

using ItemMap = std::map<ItemName, Item>;

// A session's items behind a change, and what its receipt says of them.
struct ItemsAfter {
  ItemMap items;
  ItemVersion version;
  std::vector<PutResult> puts;
  uint64_t deleted = 0;
};

// What `writes` leave of `items`, whose counter is at `version`, or the refusal.
std::variant<ItemsAfter, Refusal> WriteItems(const ItemMap& items, ItemVersion version,
                                             const ItemWrites& writes, const ItemBounds& bounds,
                                             absl::Time now);

// C270 to C278.
ItemPage PageOfItems(const ItemMap& items, const ItemQuery& query, PageLimit limit);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REFERENCE_ITEMS_H_
