#include "store-fs/index_layer.h"

#include <algorithm>
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

const std::optional<std::string>* IndexLayer::Find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<IndexEntry> IndexLayer::EntriesIn(const KeyRange& range) const {
  return SomeIn(range, Direction::kAscending, entries_.size());
}

std::vector<IndexEntry> IndexLayer::SomeIn(const KeyRange& range, Direction direction,
                                           size_t most) const {
  std::vector<IndexEntry> found;
  IndexLayerCursor cursor(*this, range, direction);
  while (found.size() < most) {
    std::optional<IndexEntry> entry = cursor.Next();
    if (!entry) break;
    found.push_back(*std::move(entry));
  }
  if (direction == Direction::kDescending) std::ranges::reverse(found);
  return found;
}

IndexLayerCursor::IndexLayerCursor(const IndexLayer& layer, const KeyRange& range,
                                   Direction direction)
    : direction_(direction),
      begin_(layer.entries().lower_bound(range.from)),
      end_(range.to.empty() ? layer.entries().end() : layer.entries().lower_bound(range.to)),
      ended_(!range.to.empty() && range.to <= range.from) {}

std::optional<IndexEntry> IndexLayerCursor::Next() {
  if (ended_ || begin_ == end_) return std::nullopt;
  const auto at = direction_ == Direction::kAscending ? begin_++ : --end_;
  return IndexEntry{.key = at->first, .value = at->second};
}

}  // namespace holdfast::fs
