#include "session/head_cache.h"

namespace holdfast {

std::optional<Head> HeadCache::Find(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->second;
}

void HeadCache::Put(const SessionKey& key, Head head) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    Head& known = found->second->second;
    const bool later = known.uid == head.uid &&
                       (known.revision > head.revision ||
                        (known.revision == head.revision && known.journal > head.journal));
    if (!later) known = std::move(head);
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return;
  }
  by_use_.emplace_front(key, std::move(head));
  by_key_.emplace(key, by_use_.begin());
  if (by_use_.size() > most_) {
    by_key_.erase(by_use_.back().first);
    by_use_.pop_back();
  }
}

void HeadCache::Forget(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  by_use_.erase(found->second);
  by_key_.erase(found);
}

}  // namespace holdfast
