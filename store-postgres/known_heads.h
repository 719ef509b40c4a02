// Heads that this server has seen, with the version of the row they stood in. Of any age: what is
// decided on one is written only if that version still stands.
#ifndef HOLDFAST_STORE_POSTGRES_KNOWN_HEADS_H_
#define HOLDFAST_STORE_POSTGRES_KNOWN_HEADS_H_

#include "session/digest.h"
#include "session/head.h"
#include "session/heap_size.h"
#include "session/ids.h"
#include "session/lru_cache.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace holdfast::pg {

struct KnownHead {
  int64_t version = 0;
  Digest sum{};  // of the head's record
  Head head;
};

inline size_t HeapSize(const KnownHead& known) { return HeapSize(known.head); }

// Bounded by entries and by bytes. Any thread may call.
class KnownHeads {
 public:
  explicit KnownHeads(LruBounds bounds) : heads_(bounds) {}

  std::optional<KnownHead> Find(const SessionKey& key) { return heads_.Find(key); }
  // Remembers `known` unless a later version of the same session is known.
  void Put(const SessionKey& key, KnownHead known) {
    const auto later = [version = known.version](const KnownHead& there) {
      return there.version >= version;
    };
    heads_.Put(key, std::move(known), later);
  }
  // Remembers it also where a later version was known: that one is gone.
  void Replace(const SessionKey& key, KnownHead known) {
    heads_.Put(key, std::move(known), [](const KnownHead&) { return false; });
  }
  void Forget(const SessionKey& key) { heads_.Forget(key); }

 private:
  LruCache<KnownHead> heads_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_KNOWN_HEADS_H_
