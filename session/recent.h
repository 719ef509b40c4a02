// What was learnt about sessions lately, as far as there is room for it.
#ifndef HOLDFAST_SESSION_RECENT_H_
#define HOLDFAST_SESSION_RECENT_H_

#include "session/ids.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <list>
#include <optional>
#include <utility>

namespace holdfast {

// One `Value` for each of at most so many sessions; the least recently used goes first. Any thread
// may call.
template <typename Value>
class Recent final {
 public:
  explicit Recent(size_t most) : most_(most) {}

  std::optional<Value> Find(const SessionKey& key) {
    const absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::nullopt;
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->second;
  }

  // Remembers `value`, unless `stays(what is known)`.
  template <typename Stays>
  void Put(const SessionKey& key, Value value, Stays stays) {
    const absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, found->second);
      if (!stays(found->second->second)) found->second->second = std::move(value);
      return;
    }
    by_use_.emplace_front(key, std::move(value));
    by_key_.emplace(key, by_use_.begin());
    if (by_use_.size() <= most_) return;
    by_key_.erase(by_use_.back().first);
    by_use_.pop_back();
  }

  void Forget(const SessionKey& key) {
    const absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    by_use_.erase(found->second);
    by_key_.erase(found);
  }

 private:
  using Entry = std::pair<SessionKey, Value>;

  const size_t most_;
  absl::Mutex mutex_;
  std::list<Entry> by_use_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<SessionKey, typename std::list<Entry>::iterator> by_key_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_RECENT_H_
