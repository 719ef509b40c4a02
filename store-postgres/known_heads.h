// Heads that this server has seen, with the version of the row they stood in. Of any age: what is
// decided on one is written only if that version still stands.
#ifndef HOLDFAST_STORE_POSTGRES_KNOWN_HEADS_H_
#define HOLDFAST_STORE_POSTGRES_KNOWN_HEADS_H_

#include "session/digest.h"
#include "session/head.h"
#include "session/ids.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>

namespace holdfast::pg {

struct KnownHead {
  int64_t version = 0;
  Digest sum{};  // of the head's record
  Head head;
};

// Bounded; the least recently used entry goes first. Any thread may call.
class KnownHeads {
 public:
  explicit KnownHeads(size_t most) : most_(most) {}

  std::optional<KnownHead> Find(const SessionKey& key);
  // Remembers `head` unless a later version of the same session is known.
  void Put(const SessionKey& key, KnownHead known);
  // Remembers it also where a later version was known: that one is gone.
  void Replace(const SessionKey& key, KnownHead known);
  void Forget(const SessionKey& key);

 private:
  using Entry = std::pair<SessionKey, KnownHead>;

  void Add(const SessionKey& key, KnownHead known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_;
  absl::Mutex mutex_;
  std::list<Entry> by_use_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<SessionKey, std::list<Entry>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_KNOWN_HEADS_H_
