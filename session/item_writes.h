// What one call writes of a session's items, and what a store makes of it.
#ifndef HOLDFAST_SESSION_ITEM_WRITES_H_
#define HOLDFAST_SESSION_ITEM_WRITES_H_

#include "session/ids.h"
#include "session/item.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

// When a put writes.
enum class PutCondition : uint8_t {
  kAny = 1,
  kIfAbsent,   // only where the name has no item; one that is there is answered, and no refusal
  kIfVersion,  // only on this version; another one is a refusal
};

struct ItemPut {
  Item item;  // an empty key: the version that the store gives becomes the key
  PutCondition condition = PutCondition::kAny;
  ItemVersion expected;  // of kIfVersion
};

struct ItemDelete {
  std::string collection;
  std::variant<std::string, KeyRange> keys;  // one key, or each that is there
};

// The last key of a range, as the caller knows it.
struct ExpectedLast {
  std::string collection;
  KeyRange range;
  std::string key;  // empty: the range has no item
};

// Written whole or not at all: `expected_last` is compared, then the deletes, then the puts. No two
// puts have one name.
struct ItemWrites {
  std::optional<ExpectedLast> expected_last;
  std::vector<ItemDelete> deletes;
  std::vector<ItemPut> puts;

  [[nodiscard]] bool empty() const { return deletes.empty() && puts.empty(); }
};

// What became of one put.
struct PutResult {
  ItemVersion version;   // that the name has now
  bool existed = false;  // the name had an item when its put came, which its deletes had left
  bool operator==(const PutResult&) const = default;
};

// What a session has in items.
struct ItemTotals {
  uint64_t items = 0;
  uint64_t bytes = 0;  // by ItemBytes
  bool operator==(const ItemTotals&) const = default;
};

// What a session may have, and what one change may delete.
struct ItemBounds {
  uint64_t items = kItemsPerSession;
  uint64_t bytes = kItemBytesPerSession;
  uint64_t deletes = kItemsPerDelete;
};

// What bounds `writes`: `bounds`, but for what the server puts of its own, which the number and the
// bytes of a session's items never refuse.
ItemBounds BoundsOf(const ItemWrites& writes, const ItemBounds& bounds);

// INVALID_FIELD where a put names the key that an append of the same writes was given. They are
// numbered (session/apply.h).
std::optional<Refusal> CheckAppendedKeys(const ItemWrites& writes);

// What a store has of an item, without its data.
struct StoredItem {
  std::string key;
  ItemVersion version;
  absl::Time created_at;
  uint64_t bytes = 0;  // by ItemBytes
};

// The items of one session as they are when a change is decided. An error of any call ends the
// decision with this error.
class ItemLookup {
 public:
  virtual ~ItemLookup() = default;

  virtual absl::StatusOr<std::optional<StoredItem>> Find(const ItemName& name) = 0;
  // Those of the range in the order of their keys; only the last one if `only_last`; at most
  // `most`.
  virtual absl::StatusOr<std::vector<StoredItem>> FindRange(const std::string& collection,
                                                            const KeyRange& range, bool only_last,
                                                            uint64_t most) = 0;
};

// What writes do to the items of a session.
struct ItemEffects {
  std::vector<ItemName> deleted;  // that were there; a put of the same call may write them anew
  std::vector<Item> written;
  std::vector<PutResult> results;  // one for each put, in their order
  ItemTotals totals;               // behind them
};

// The effects of `writes`, whose puts are numbered, or the refusal that leaves everything as it is:
// StaleItem, StaleLast, or TOO_LARGE of more items, bytes or deletes than `bounds` has. A change
// that leaves no more than there was is not refused for that.
absl::StatusOr<std::variant<ItemEffects, Refusal>> ResolveItems(const ItemWrites& writes,
                                                                const ItemTotals& before,
                                                                const ItemBounds& bounds,
                                                                ItemLookup& lookup);

// STALE_REVISION what=item: the put of this index expected another version than `actual`.
Refusal StaleItem(size_t index, const ItemPut& put, ItemVersion actual);
// STALE_REVISION what=item: the last key is `actual`, empty where there is none.
Refusal StaleLast(const std::string& actual);
// TOO_LARGE of what the session may have.
Refusal TooManyItems(uint64_t limit, uint64_t got);
Refusal TooManyItemBytes(uint64_t limit, uint64_t got);
// TOO_LARGE of what one change may delete.
Refusal TooManyDeletes(uint64_t limit, uint64_t got);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_ITEM_WRITES_H_
