#include "store-postgres/known_heads.h"

namespace holdfast::pg {

std::optional<KnownHead> KnownHeads::Find(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->second;
}

void KnownHeads::Put(const SessionKey& key, KnownHead known) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    Add(key, std::move(known));
  } else {
    KnownHead& there = found->second->second;
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    if (there.version < known.version) there = std::move(known);
  }
}

void KnownHeads::Replace(const SessionKey& key, KnownHead known) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    Add(key, std::move(known));
  } else {
    found->second->second = std::move(known);
  }
}

void KnownHeads::Add(const SessionKey& key, KnownHead known) {
  by_use_.emplace_front(key, std::move(known));
  by_key_.emplace(key, by_use_.begin());
  if (by_use_.size() <= most_) return;
  by_key_.erase(by_use_.back().first);
  by_use_.pop_back();
}

void KnownHeads::Forget(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  by_use_.erase(found->second);
  by_key_.erase(found);
}

}  // namespace holdfast::pg
