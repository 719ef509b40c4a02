// Which events are watched on this server. A watcher reads the events of its session again and
// again, so a bucket that was not read for a while has no watcher.
#ifndef HOLDFAST_STORE_POSTGRES_INTEREST_H_
#define HOLDFAST_STORE_POSTGRES_INTEREST_H_

#include "session/ids.h"
#include "store-postgres/buckets.h"

#include "absl/time/time.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::pg {

// How long a read counts as a watcher: several of the pauses between two reads of an idle one
// (limits.watch_progress). Where those are longer, the poll finds other servers' events.
inline constexpr absl::Duration kInterestKept = absl::Minutes(5);

// Any thread may call. Times are since boot.
class Interest {
 public:
  // Events of `key` were read.
  void Note(const SessionKey& key, absl::Duration now) {
    read_at_[BucketOf(key)] = std::max<int64_t>(absl::ToInt64Nanoseconds(now), 1);
  }
  // Whether a watcher may wait for events in one of `touched`.
  [[nodiscard]] bool In(const Buckets& touched, absl::Duration now) const {
    const int64_t since = absl::ToInt64Nanoseconds(now - kInterestKept);
    for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
      if (!touched.test(bucket)) continue;
      const int64_t at = read_at_[bucket];
      if (at > 0 && at >= since) return true;
    }
    return false;
  }

 private:
  std::array<std::atomic<int64_t>, kBuckets> read_at_ = {};  // 0: never
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_INTEREST_H_
