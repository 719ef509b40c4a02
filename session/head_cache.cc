#include "session/head_cache.h"

#include <utility>

namespace holdfast {

void HeadCache::Put(const SessionKey& key, Head head) {
  const auto later = [uid = head.uid, revision = head.revision,
                      journal = head.journal](const Head& known) {
    return known.uid == uid &&
           (known.revision > revision || (known.revision == revision && known.journal > journal));
  };
  heads_.Put(key, std::move(head), later);
}

}  // namespace holdfast
