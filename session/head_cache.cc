#include "session/head_cache.h"

#include "session/saboteur.h"

#include <utility>

namespace holdfast {

std::optional<Head> HeadCache::Find(const SessionKey& key) {
  std::optional<Cached> cached = heads_.Find(key);
  if (!cached) return std::nullopt;
  return std::move(cached->head);
}

void HeadCache::Put(const SessionKey& key, Head head, Moment asked_at) {
  const auto keeps = [asked_at, uid = head.uid, revision = head.revision,
                      journal = head.journal](const Cached& known) {
    // What was cached before the store was asked is no later than its answer, unless the store has
    // lost it, as a failover may.
    const bool asked_before = known.put_at > asked_at || Sabotaged(Saboteur::kKeepOlderHead);
    return asked_before && known.head.uid == uid &&
           (known.head.revision > revision ||
            (known.head.revision == revision && known.head.journal > journal));
  };
  const Moment now = puts_.fetch_add(1) + 1;
  heads_.Put(key, {.head = std::move(head), .put_at = now}, keeps);
}

}  // namespace holdfast
