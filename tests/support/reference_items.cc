#include "tests/support/reference_items.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>

namespace holdfast::test {
namespace {

uint64_t TotalItemBytes(const ItemMap& items) {
  uint64_t bytes = 0;
  for (const auto& [name, item] : items) bytes += ItemBytes(item);
  return bytes;
}

bool Names(const ItemDelete& wanted, const ItemName& name) {
  if (wanted.collection != name.collection) return false;
  const auto* key = std::get_if<std::string>(&wanted.keys);
  return key != nullptr ? *key == name.key : std::get<KeyRange>(wanted.keys).Contains(name.key);
}

std::string LastKey(const ItemMap& items, const ExpectedLast& expected) {
  std::string last;
  for (const auto& [name, item] : items) {
    if (name.collection == expected.collection && expected.range.Contains(name.key)) {
      last = name.key;
    }
  }
  return last;
}

// C256: eight bytes, the most significant one first.
std::string KeyOfAppend(ItemVersion version) {
  std::string key(sizeof(uint64_t), '\0');
  uint64_t rest = version.value();
  for (auto at = key.rbegin(); at != key.rend(); ++at) {
    *at = static_cast<char>(rest % 256);
    rest /= 256;
  }
  return key;
}

class ItemWriter {
 public:
  ItemWriter(const ItemMap& items, ItemVersion version, absl::Time now) : now_(now) {
    after_.items = items;
    after_.version = version;
  }

  void Delete(const std::vector<ItemDelete>& deletes) {
    if (deletes.empty()) return;
    after_.version = after_.version.Next();
    after_.deleted = std::erase_if(after_.items, [&](const auto& item) {
      return std::ranges::any_of(
          deletes, [&](const ItemDelete& wanted) { return Names(wanted, item.first); });
    });
  }

  std::optional<Refusal> Put(size_t index, const ItemPut& put) {
    after_.version = after_.version.Next();  // C255: whatever becomes of it
    Item item = put.item;
    item.version = after_.version;
    if (item.name.key.empty()) item.name.key = KeyOfAppend(item.version);
    item.created_at = now_;
    item.updated_at = now_;
    if (!named_.insert(item.name).second) {
      return InvalidField("puts[" + std::to_string(index) + "].item.key",
                          "is the key that an append of this request gets");
    }
    const auto there = after_.items.find(item.name);
    const bool existed = there != after_.items.end();
    const ItemVersion actual = existed ? there->second.version : ItemVersion();
    if (put.condition == PutCondition::kIfVersion && put.expected != actual) {
      return StaleItem(index, put, actual);
    }
    if (put.condition == PutCondition::kIfAbsent && existed) {
      after_.puts.push_back({.version = actual, .existed = true});
      return std::nullopt;
    }
    if (existed) item.created_at = there->second.created_at;
    after_.puts.push_back({.version = item.version, .existed = existed});
    after_.items.insert_or_assign(item.name, item);
    return std::nullopt;
  }

  [[nodiscard]] const ItemsAfter& after() const { return after_; }

 private:
  const absl::Time now_;
  ItemsAfter after_;
  std::set<ItemName> named_;  // by the puts so far
};

}  // namespace

std::variant<ItemsAfter, Refusal> WriteItems(const ItemMap& items, ItemVersion version,
                                             const ItemWrites& writes, const ItemBounds& bounds,
                                             absl::Time now) {
  if (writes.expected_last) {
    const std::string actual = LastKey(items, *writes.expected_last);
    if (actual != writes.expected_last->key) return StaleLast(actual);
  }
  ItemWriter writer(items, version, now);
  writer.Delete(writes.deletes);
  const ItemsAfter& after = writer.after();
  if (after.deleted > bounds.deletes) return TooManyDeletes(bounds.deletes, after.deleted);
  for (size_t i = 0; i < writes.puts.size(); ++i) {
    if (auto refusal = writer.Put(i, writes.puts[i])) return *std::move(refusal);
  }
  // C329.
  const bool by_client = std::ranges::any_of(writes.puts, [](const ItemPut& put) {
    return !put.item.name.collection.starts_with("holdfast.");
  });
  if (!by_client) return after;
  if (after.items.size() > std::max<size_t>(items.size(), bounds.items)) {
    return TooManyItems(bounds.items, after.items.size());
  }
  const uint64_t bytes = TotalItemBytes(after.items);
  if (bytes > std::max(TotalItemBytes(items), bounds.bytes))
    return TooManyItemBytes(bounds.bytes, bytes);
  return after;
}

ItemPage PageOfItems(const ItemMap& items, const ItemQuery& query, PageLimit limit) {
  std::vector<const Item*> wanted;
  for (const auto& [name, item] : items) {
    const bool named = query.keys.empty() ? query.range.Contains(name.key)
                                          : std::ranges::count(query.keys, name.key) > 0;
    if (name.collection == query.collection && named) wanted.push_back(&item);
  }
  if (query.descending) std::ranges::reverse(wanted);
  ItemPage page;
  page.end = true;
  size_t bytes = 0;
  for (const Item* item : wanted) {
    const std::string& key = item->name.key;
    const bool behind =
        !query.after || (query.descending ? key < *query.after : key > *query.after);
    if (!behind) continue;
    const bool shown = HasLabels(*item, query.labels);
    if (shown) bytes += ItemBytes(*item) - (query.data ? 0 : item->data.size());
    const bool looked_enough = !query.labels.empty() && page.looked_at == query.look_most;
    const bool full = page.items.size() == limit.items || looked_enough ||
                      (bytes > limit.bytes && !page.items.empty());
    if (full) {
      page.end = false;
      break;
    }
    page.last = key;
    ++page.looked_at;
    if (!shown) continue;
    page.items.push_back({.item = *item, .size = item->data.size()});
    if (!query.data) page.items.back().item.data = SharedBytes();
  }
  return page;
}

}  // namespace holdfast::test
