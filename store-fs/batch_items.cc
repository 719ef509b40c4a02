#include "store-fs/batch_items.h"

#include "platform/status_macros.h"
#include "store-fs/item_entry.h"

#include <utility>
#include <variant>

namespace holdfast::fs {
namespace {

// Nothing of a deletion.
absl::StatusOr<std::optional<StoredItem>> StoredItemOf(const IndexEntry& entry) {
  if (!entry.value) return std::nullopt;
  std::optional<ItemEntry> item = DecodeItemEntry(entry);
  if (!item) return absl::DataLossError("an entry of the index is no item");
  return StoredItem{.key = std::move(item->name.key),
                    .version = item->version,
                    .created_at = item->created_at,
                    .bytes = item->bytes};
}

// What lookups need of an item that is not written yet: not where its bytes lie.
ItemEntry UnwrittenEntry(const Item& item) {
  return {.name = item.name,
          .version = item.version,
          .created_at = item.created_at,
          .updated_at = item.updated_at,
          .bytes = ItemBytes(item),
          .facts = {},
          .facts_at = {},
          .data = {}};
}

}  // namespace

BatchItems::BatchItems(const RunFiles& where, const SessionState* state, const ItemBounds& bounds)
    : where_(where),
      state_(state),
      bounds_(bounds),
      runs_(where_, state == nullptr ? Runs() : state->items.runs()),
      totals_(state == nullptr ? ItemTotals() : state->items.totals()) {}

absl::StatusOr<std::optional<Refusal>> BatchItems::Resolve(Applied& applied) {
  ASSIGN_OR_RETURN(auto resolved, ResolveItems(applied.items, totals_, bounds_, *this));
  if (auto* refusal = std::get_if<Refusal>(&resolved)) return std::optional(std::move(*refusal));
  applied.item_effects = std::get<ItemEffects>(std::move(resolved));
  return std::nullopt;
}

void BatchItems::Take(const Applied& applied) {
  if (applied.items.empty()) return;
  const ItemEffects& effects = applied.item_effects;
  for (const ItemName& name : effects.deleted) {
    taken_.Put({.key = ItemKey(name), .value = std::nullopt});
  }
  for (const Item& item : effects.written) taken_.Put(EncodeItemEntry(UnwrittenEntry(item)));
  totals_ = effects.totals;
}

absl::StatusOr<std::optional<StoredItem>> BatchItems::Find(const ItemName& name) {
  const std::string key = ItemKey(name);
  const std::optional<std::string>* newer = taken_.Find(key);
  if (newer == nullptr && state_ != nullptr) newer = state_->items.newer().Find(key);
  if (newer != nullptr) return StoredItemOf({.key = key, .value = *newer});
  ASSIGN_OR_RETURN(const std::optional<IndexEntry> found, runs_.Find(key));
  if (!found) return std::nullopt;
  return StoredItemOf(*found);
}

absl::StatusOr<std::vector<StoredItem>> BatchItems::FindRange(const std::string& collection,
                                                              const holdfast::KeyRange& range,
                                                              bool only_last, uint64_t most) {
  std::vector<const IndexLayer*> layers = {&taken_};
  if (state_ != nullptr) layers.push_back(&state_->items.newer());
  IndexCursor cursor(where_, layers, state_ == nullptr ? Runs() : state_->items.runs(),
                     {.range = ItemKeysIn(collection, range),
                      .deleted = Deleted::kHide,
                      .direction = only_last ? Direction::kDescending : Direction::kAscending});
  std::vector<StoredItem> found;
  const uint64_t wanted = only_last ? 1 : most;
  while (found.size() < wanted) {
    ASSIGN_OR_RETURN(const std::optional<IndexEntry> entry, cursor.Next());
    if (!entry) break;
    ASSIGN_OR_RETURN(std::optional<StoredItem> item, StoredItemOf(*entry));
    found.push_back(*std::move(item));
  }
  return found;
}

}  // namespace holdfast::fs
