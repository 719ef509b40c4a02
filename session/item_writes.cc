#include "session/item_writes.h"

#include "platform/status_macros.h"

#include "absl/strings/escaping.h"

#include <algorithm>
#include <limits>
#include <set>

namespace holdfast {
namespace {

// A refusal that is a value: by itself it would become an error of the StatusOr.
using Resolution = std::variant<ItemEffects, Refusal>;

// The writes of one change, one after the other.
class ItemResolution {
 public:
  // Both outlive it.
  ItemResolution(const ItemTotals& before, const ItemBounds& bounds, ItemLookup& lookup)
      : before_(before), bounds_(bounds), lookup_(lookup) {
    effects_.totals = before;
  }

  absl::StatusOr<std::optional<Refusal>> Compare(const ExpectedLast& expected) {
    ASSIGN_OR_RETURN(const std::vector<StoredItem> last,
                     lookup_.FindRange(expected.collection, expected.range, /*only_last=*/true, 1));
    const std::string actual = last.empty() ? "" : last.front().key;
    if (actual == expected.key) return std::nullopt;
    return std::optional(StaleLast(actual));
  }

  absl::StatusOr<std::optional<Refusal>> Delete(const ItemDelete& wanted) {
    const auto* key = std::get_if<std::string>(&wanted.keys);
    if (key != nullptr) {
      ASSIGN_OR_RETURN(const std::optional<StoredItem> found,
                       lookup_.Find({.collection = wanted.collection, .key = *key}));
      if (found) NoteDeleted(wanted.collection, *found);
    } else {
      // One more than may be deleted shows that there are too many.
      ASSIGN_OR_RETURN(const std::vector<StoredItem> found,
                       lookup_.FindRange(wanted.collection, std::get<KeyRange>(wanted.keys),
                                         /*only_last=*/false, bounds_.deletes + 1));
      for (const StoredItem& item : found) NoteDeleted(wanted.collection, item);
    }
    if (deleted_.size() <= bounds_.deletes) return std::nullopt;
    return std::optional(TooManyDeletes(bounds_.deletes, deleted_.size()));
  }

  absl::StatusOr<std::optional<Refusal>> Put(size_t index, const ItemPut& put) {
    std::optional<StoredItem> stored;
    if (!deleted_.contains(put.item.name)) {
      ASSIGN_OR_RETURN(stored, lookup_.Find(put.item.name));
    }
    const ItemVersion actual = stored ? stored->version : ItemVersion();
    if (put.condition == PutCondition::kIfVersion && put.expected != actual) {
      return std::optional(StaleItem(index, put, actual));
    }
    if (put.condition == PutCondition::kIfAbsent && stored) {
      effects_.results.push_back({.version = actual, .existed = true});
      return std::nullopt;
    }
    Item& item = effects_.written.emplace_back(put.item);
    if (stored) {
      item.created_at = stored->created_at;
      effects_.totals.bytes -= stored->bytes;
    } else {
      ++effects_.totals.items;
    }
    effects_.totals.bytes += ItemBytes(item);
    effects_.results.push_back({.version = item.version, .existed = stored.has_value()});
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Refusal> CheckTotals() const {
    const ItemTotals& after = effects_.totals;
    if (after.items > bounds_.items && after.items > before_.items) {
      return TooManyItems(bounds_.items, after.items);
    }
    if (after.bytes > bounds_.bytes && after.bytes > before_.bytes) {
      return TooManyItemBytes(bounds_.bytes, after.bytes);
    }
    return std::nullopt;
  }

  ItemEffects TakeEffects() {
    effects_.deleted.assign(deleted_.begin(), deleted_.end());
    return std::move(effects_);
  }

 private:
  void NoteDeleted(const std::string& collection, const StoredItem& item) {
    if (!deleted_.insert({.collection = collection, .key = item.key}).second) return;
    --effects_.totals.items;
    effects_.totals.bytes -= item.bytes;
  }

  const ItemTotals before_;
  const ItemBounds& bounds_;
  ItemLookup& lookup_;
  ItemEffects effects_;
  std::set<ItemName> deleted_;
};

}  // namespace

ItemBounds BoundsOf(const ItemWrites& writes, const ItemBounds& bounds) {
  const bool own = std::ranges::all_of(writes.puts, [](const ItemPut& put) {
    return put.item.name.collection.starts_with(kOwnCollectionPrefix);
  });
  if (!own || writes.puts.empty()) return bounds;
  // The most that a column of a database holds.
  constexpr uint64_t kUnbounded = std::numeric_limits<int64_t>::max();
  return {.items = kUnbounded, .bytes = kUnbounded, .deletes = bounds.deletes};
}

absl::StatusOr<std::variant<ItemEffects, Refusal>> ResolveItems(const ItemWrites& writes,
                                                                const ItemTotals& before,
                                                                const ItemBounds& bounds,
                                                                ItemLookup& lookup) {
  const ItemBounds binding = BoundsOf(writes, bounds);
  ItemResolution resolution(before, binding, lookup);
  std::optional<Refusal> refusal;
  if (writes.expected_last) {
    ASSIGN_OR_RETURN(refusal, resolution.Compare(*writes.expected_last));
    if (refusal) return Resolution(*std::move(refusal));
  }
  for (const ItemDelete& wanted : writes.deletes) {
    ASSIGN_OR_RETURN(refusal, resolution.Delete(wanted));
    if (refusal) return Resolution(*std::move(refusal));
  }
  for (size_t index = 0; index < writes.puts.size(); ++index) {
    ASSIGN_OR_RETURN(refusal, resolution.Put(index, writes.puts[index]));
    if (refusal) return Resolution(*std::move(refusal));
  }
  refusal = resolution.CheckTotals();
  if (refusal) return Resolution(*std::move(refusal));
  return Resolution(resolution.TakeEffects());
}

std::optional<Refusal> CheckAppendedKeys(const ItemWrites& writes) {
  std::set<ItemName> seen;
  for (size_t i = 0; i < writes.puts.size(); ++i) {
    if (seen.insert(writes.puts[i].item.name).second) continue;
    return InvalidField("puts[" + std::to_string(i) + "].item.key",
                        "is the key that an append of this request gets");
  }
  return std::nullopt;
}

Refusal StaleItem(size_t index, const ItemPut& put, ItemVersion actual) {
  return Refusal(Reason::kStaleRevision, "the item has another version than expected")
      .With("what", "item")
      .With("field", "puts[" + std::to_string(index) + "].expected_version")
      .With("expected", put.expected.value())
      .With("actual", actual.value());
}

Refusal StaleLast(const std::string& actual) {
  return Refusal(Reason::kStaleRevision, "the last key of the range is another one than expected")
      .With("what", "item")
      .With("field", "expected_last.key")
      .With("actual", absl::WebSafeBase64Escape(actual));
}

Refusal TooManyItems(uint64_t limit, uint64_t got) { return TooLarge("puts", limit, got); }

Refusal TooManyItemBytes(uint64_t limit, uint64_t got) { return TooLarge("puts.data", limit, got); }

Refusal TooManyDeletes(uint64_t limit, uint64_t got) { return TooLarge("deletes", limit, got); }

}  // namespace holdfast
