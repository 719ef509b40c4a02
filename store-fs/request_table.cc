#include "store-fs/request_table.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::fs {

RequestTable::Key RequestTable::KeyOf(const RequestId& id) {
  const std::string bytes = UuidBytes(id.value());
  Key key{};
  std::ranges::copy_n(bytes.begin(), std::min(bytes.size(), key.size()), key.begin());
  return key;
}

void RequestTable::Add(RequestRow row) {
  AddWritten(row.stamp.id, row.at);
  unwritten_.push_back(std::move(row));
}

void RequestTable::AddWritten(const RequestId& id, absl::Time at) {
  const Key key = KeyOf(id);
  newest_.insert_or_assign(key, first_ + ages_.size());
  ages_.push_back({.at = at, .id = key});
}

std::optional<RequestTable::Known> RequestTable::Find(const RequestId& id,
                                                      absl::Time oldest) const {
  const auto found = newest_.find(KeyOf(id));
  if (found == newest_.end()) return std::nullopt;
  const size_t place = found->second - first_;
  if (ages_[place].at < oldest) return std::nullopt;
  const size_t written = ages_.size() - unwritten_.size();
  return Known{.row = place < written ? nullptr : &unwritten_[place - written],
               .number = found->second};
}

void RequestTable::DropOlder(absl::Time oldest) {
  while (ages_.size() > unwritten_.size() && ages_.front().at < oldest) {
    const auto found = newest_.find(ages_.front().id);
    // A later row of the same id stays.
    if (found->second == first_) newest_.erase(found);
    ages_.pop_front();
    ++first_;
  }
}

}  // namespace holdfast::fs
