#include "store-fs/session_table.h"

#include "platform/unlocked.h"

#include "absl/cleanup/cleanup.h"

#include <iterator>

namespace holdfast::fs {

std::shared_ptr<OpenSession> SessionTable::Get(const SessionKey& key) {
  absl::MutexLock lock(&mutex_);
  const auto is_closed = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !closing_.contains(key);
  };
  mutex_.Await(absl::Condition(&is_closed));
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->second;
  }
  auto session = std::make_shared<OpenSession>(environment_, key);
  std::list<Entry> added;
  added.emplace_front(key, session);
  by_key_.emplace(key, added.begin());
  by_use_.splice(by_use_.begin(), added);
  const std::list<Entry> evicted = Evict();
  if (evicted.empty()) return session;
  const absl::Cleanup are_closed = [&] {
    mutex_.AssertHeld();
    for (const Entry& entry : evicted) closing_.erase(entry.first);
  };
  const Unlocked unlocked(mutex_);
  for (const Entry& entry : evicted) entry.second->Close();
  return session;
}

std::shared_ptr<OpenSession> SessionTable::Find(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->second;
}

std::list<SessionTable::Entry> SessionTable::Evict() {
  std::list<Entry> evicted;
  // A session in use is not evicted: two objects for one directory would write past each other.
  for (auto it = std::prev(by_use_.end()); by_use_.size() > most_ && it != by_use_.begin();) {
    const auto candidate = it--;
    if (candidate->second.use_count() > 1) continue;
    closing_.insert(candidate->first);
    by_key_.erase(candidate->first);
    evicted.splice(evicted.end(), by_use_, candidate);
  }
  return evicted;
}

void SessionTable::CutBackIdle(absl::Duration idle) {
  for (const auto& session : All()) session->CutBackIfIdle(idle);
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
