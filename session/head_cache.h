// Heads that this server has seen lately. Optimistic: an entry may be of any age, so it may let a
// command through (the store's guards decide) and must never refuse one.
#ifndef HOLDFAST_SESSION_HEAD_CACHE_H_
#define HOLDFAST_SESSION_HEAD_CACHE_H_

#include "session/head.h"
#include "session/heap_size.h"
#include "session/ids.h"
#include "session/lru_cache.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast {

// Bounded by entries and by bytes. Any thread may call.
class HeadCache {
 public:
  // A point in the order of calls of Put.
  using Moment = uint64_t;

  explicit HeadCache(LruBounds bounds) : heads_(bounds) {}

  std::optional<Head> Find(const SessionKey& key);
  // To be asked before the store is, for Put.
  [[nodiscard]] Moment Now() const { return puts_.load(); }
  // Stores `head`, which the store answered to a call that began at `asked_at`, unless a later one
  // of the same session was stored since then. One from before that is replaced whatever its
  // revision: where it is later, the store has lost it.
  void Put(const SessionKey& key, Head head, Moment asked_at);
  void Forget(const SessionKey& key) { heads_.Forget(key); }
  // What the entries take.
  [[nodiscard]] size_t Bytes() { return heads_.Bytes(); }

 private:
  struct Cached {
    Head head;
    Moment put_at = 0;
    friend size_t HeapSize(const Cached& cached) { return holdfast::HeapSize(cached.head); }
  };

  LruCache<Cached> heads_;
  std::atomic<Moment> puts_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_HEAD_CACHE_H_
