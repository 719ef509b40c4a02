// An item as the index holds it: the key is the collection, a zero and the key of the item, which
// no collection has in its name. Its bytes lie in the journal or in a sealed log.
#ifndef HOLDFAST_STORE_FS_ITEM_ENTRY_H_
#define HOLDFAST_STORE_FS_ITEM_ENTRY_H_

#include "session/ids.h"
#include "session/item.h"
#include "store-fs/index_entry.h"
#include "store-fs/segment.h"

#include "absl/time/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::fs {

struct ItemEntry {
  ItemName name;
  ItemVersion version;
  absl::Time created_at;
  absl::Time updated_at;
  uint64_t bytes = 0;  // by ItemBytes
  // What EncodeItemFacts makes of it; empty when that has more than kItemFactsInlineBytes: then it
  // lies at `facts_at`, whose size is else 0.
  std::string facts;
  Extent facts_at;
  Extent data;  // of size 0 when the item has none
};

std::string ItemKey(const ItemName& name);
// The name that `key` is of; nullopt when it is of none.
std::optional<ItemName> NameOfItemKey(std::string_view key);
// The keys of the items of a collection whose own keys are in `range`.
KeyRange ItemKeysIn(const std::string& collection, const holdfast::KeyRange& range);

IndexEntry EncodeItemEntry(const ItemEntry& entry);
// Nothing when `entry` is not what EncodeItemEntry makes.
std::optional<ItemEntry> DecodeItemEntry(const IndexEntry& entry);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_ITEM_ENTRY_H_
