#include "store-fs/session_table.h"

#include <iterator>

namespace holdfast::fs {

std::shared_ptr<OpenSession> SessionTable::Get(const SessionKey& key) {
  std::vector<std::shared_ptr<OpenSession>> closed;
  std::shared_ptr<OpenSession> session = GetAndEvict(key, closed);
  // Outside the lock: with durability by interval nobody else will do it any more.
  for (const auto& evicted : closed) evicted->SyncNow();
  return session;
}

std::shared_ptr<OpenSession> SessionTable::GetAndEvict(
    const SessionKey& key, std::vector<std::shared_ptr<OpenSession>>& closed) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->second;
  }
  by_use_.emplace_front(key, std::make_shared<OpenSession>(environment_, key));
  by_key_.emplace(key, by_use_.begin());
  // One that somebody holds stays: two objects for one directory would write past each other.
  for (auto it = std::prev(by_use_.end()); by_use_.size() > most_ && it != by_use_.begin();) {
    const auto candidate = it--;
    if (candidate->second.use_count() > 1) continue;
    by_key_.erase(candidate->first);
    closed.push_back(std::move(candidate->second));
    by_use_.erase(candidate);
  }
  return by_use_.front().second;
}

std::vector<std::shared_ptr<OpenSession>> SessionTable::All() {
  const absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<OpenSession>> all;
  for (const Entry& entry : by_use_) all.push_back(entry.second);
  return all;
}

void SessionTable::Clear() {
  const absl::MutexLock lock(&mutex_);
  by_key_.clear();
  by_use_.clear();
}

}  // namespace holdfast::fs
