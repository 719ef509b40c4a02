// Heads that this server has seen lately. Optimistic: an entry may be of any age, so it may let a
// command through (the store's guards decide) and must never refuse one (DESIGN section 5).
#ifndef HOLDFAST_SESSION_HEAD_CACHE_H_
#define HOLDFAST_SESSION_HEAD_CACHE_H_

#include "session/head.h"
#include "session/ids.h"
#include "session/recent.h"

#include <cstddef>
#include <optional>

namespace holdfast {

// Bounded. Any thread may call.
class HeadCache {
 public:
  explicit HeadCache(size_t most) : heads_(most) {}

  std::optional<Head> Find(const SessionKey& key) { return heads_.Find(key); }
  // Remembers `head` unless a later one of the same session is known.
  void Put(const SessionKey& key, Head head);
  void Forget(const SessionKey& key) { heads_.Forget(key); }

 private:
  Recent<Head> heads_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_HEAD_CACHE_H_
