// Heads that this server has seen lately. Optimistic: an entry may be of any age, so it may let a
// command through (the store's guards decide) and must never refuse one (DESIGN section 5).
#ifndef HOLDFAST_SESSION_HEAD_CACHE_H_
#define HOLDFAST_SESSION_HEAD_CACHE_H_

#include "session/head.h"
#include "session/ids.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <list>
#include <optional>
#include <utility>

namespace holdfast {

// Bounded; the least recently used entry goes first. Any thread may call.
class HeadCache {
 public:
  explicit HeadCache(size_t most) : most_(most) {}

  std::optional<Head> Find(const SessionKey& key);
  // Remembers `head` unless a later one of the same session is known.
  void Put(const SessionKey& key, Head head);
  void Forget(const SessionKey& key);

 private:
  using Entry = std::pair<SessionKey, Head>;

  const size_t most_;
  absl::Mutex mutex_;
  std::list<Entry> by_use_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<SessionKey, std::list<Entry>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_HEAD_CACHE_H_
