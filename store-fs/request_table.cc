#include "store-fs/request_table.h"

#include <algorithm>

namespace holdfast::fs {

void RequestTable::Add(RequestRow row) {
  by_age_.emplace_back(row.at, row.stamp.id);
  ++unwritten_;
  const RequestId id = row.stamp.id;
  rows_.insert_or_assign(id, std::move(row));
}

const RequestRow* RequestTable::Find(const RequestId& id, absl::Time oldest) const {
  const auto found = rows_.find(id);
  return found == rows_.end() || found->second.at < oldest ? nullptr : &found->second;
}

std::vector<const RequestRow*> RequestTable::Unwritten() const {
  std::vector<const RequestRow*> rows;
  for (size_t at = by_age_.size() - unwritten_; at < by_age_.size(); ++at) {
    const auto found = rows_.find(by_age_[at].second);
    if (found != rows_.end()) rows.push_back(&found->second);
  }
  return rows;
}

void RequestTable::DropOlder(absl::Time oldest) {
  while (!by_age_.empty() && by_age_.front().first < oldest) {
    const auto found = rows_.find(by_age_.front().second);
    // A later row of the same id stays.
    if (found != rows_.end() && found->second.at < oldest) rows_.erase(found);
    by_age_.pop_front();
  }
  unwritten_ = std::min(unwritten_, by_age_.size());
}

}  // namespace holdfast::fs
