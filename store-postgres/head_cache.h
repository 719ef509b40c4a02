// Heads that this server has read or written, each with the version of its row. Of any age: a
// change that is decided on one is written only if the row still has that version.
#ifndef HOLDFAST_STORE_POSTGRES_HEAD_CACHE_H_
#define HOLDFAST_STORE_POSTGRES_HEAD_CACHE_H_

#include "platform/digest.h"
#include "platform/lru_cache.h"
#include "session/head.h"
#include "session/heap_size.h"
#include "session/ids.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast::pg {

struct VersionedHead {
  int64_t version = 0;
  Digest sum{};  // of the head's record
  Head head;
};

// Bounded by entries and by bytes. The heads are shared and never changed. Any thread may call.
class HeadCache {
 public:
  explicit HeadCache(LruBounds bounds) : heads_(bounds) {}

  // nullptr when none is known.
  std::shared_ptr<const VersionedHead> Find(const SessionKey& key) {
    const auto found = heads_.Find(key);
    return found ? found->head : nullptr;
  }
  // Remembers `head` unless a later version of the same session is known.
  void Put(const SessionKey& key, VersionedHead head) {
    const auto later = [version = head.version](const Cached& there) {
      return there.head->version >= version;
    };
    heads_.Put(key, Cached(std::move(head)), later);
  }
  // Remembers it also where a later version was cached: a failover has lost that one.
  void Replace(const SessionKey& key, VersionedHead head) {
    heads_.Put(key, Cached(std::move(head)), [](const Cached&) { return false; });
  }
  void Forget(const SessionKey& key) { heads_.Forget(key); }
  // What the entries take.
  [[nodiscard]] size_t Bytes() { return heads_.Bytes(); }

 private:
  struct Cached {
    explicit Cached(VersionedHead known)
        : head(std::make_shared<const VersionedHead>(std::move(known))) {}

    std::shared_ptr<const VersionedHead> head;

    // A reader may hold one that was evicted, for the length of its call: that is not counted.
    friend size_t HeapSize(const Cached& cached) {
      constexpr size_t kCounters = 2 * sizeof(void*);
      return kAllocationOverhead + kCounters + sizeof(VersionedHead) +
             holdfast::HeapSize(cached.head->head);
    }
  };

  LruCache<SessionKey, Cached> heads_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_HEAD_CACHE_H_
