// The store's own clock: for how long it has been open, over all its runs. How long replies, grants
// and events are kept is counted by it, since the clock for people may be set at any time.
#ifndef HOLDFAST_STORE_FS_STORE_TIME_H_
#define HOLDFAST_STORE_FS_STORE_TIME_H_

#include "platform/clock.h"

#include "absl/time/time.h"

namespace holdfast::fs {

// Advances with the time since boot while the store is open and stops while it is closed: it is
// never ahead of the time that has passed. Each run begins at the recorded time of the one before,
// so what is kept for a day is kept for a day of service at least. Any thread may call.
class StoreTime {
 public:
  // `recorded` is the latest time that is known of the run before; `clock` outlives this.
  StoreTime(const Clock& clock, absl::Time recorded)
      : clock_(clock), behind_(recorded - absl::UnixEpoch() - clock.SinceBoot()) {}

  // Counted from the beginning of the epoch of Unix, which is when the store was made; as exact as
  // a record keeps it.
  [[nodiscard]] absl::Time Now() const {
    return absl::FromUnixMicros(absl::ToInt64Microseconds(clock_.SinceBoot() + behind_));
  }

 private:
  const Clock& clock_;
  const absl::Duration behind_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_STORE_TIME_H_
