#include "store-fs/index_layer.h"

#include <iterator>
#include <utility>

namespace holdfast::fs {
namespace {

size_t EntrySize(const std::string& key, const std::optional<std::string>& value) {
  return key.size() + (value ? value->size() : 0);
}

}  // namespace

void IndexLayer::Put(IndexEntry entry) {
  bytes_ += EntrySize(entry.key, entry.value);
  const auto [place, is_new] = entries_.try_emplace(std::move(entry.key));
  if (!is_new) bytes_ -= EntrySize(place->first, place->second);
  place->second = std::move(entry.value);
}

void IndexLayer::Remove(const std::string& key) {
  const auto place = entries_.find(key);
  if (place == entries_.end()) return;
  bytes_ -= EntrySize(place->first, place->second);
  entries_.erase(place);
}

void IndexLayer::Clear() {
  entries_.clear();
  bytes_ = 0;
}

const IndexLayer::Entries::value_type* IndexLayer::FindAtOrBelow(const std::string& key,
                                                                 std::string_view part) const {
  const auto after = entries_.upper_bound(key);
  if (after == entries_.begin()) return nullptr;
  const auto& found = *std::prev(after);
  return found.first.starts_with(part) ? &found : nullptr;
}

std::vector<IndexEntry> IndexLayer::EntriesIn(const KeyRange& range) const {
  std::vector<IndexEntry> found;
  for (auto at = entries_.lower_bound(range.from); at != entries_.end(); ++at) {
    if (range.EndsBefore(at->first)) break;
    found.push_back({.key = at->first, .value = at->second});
  }
  return found;
}

}  // namespace holdfast::fs
