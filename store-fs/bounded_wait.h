// A wait for work on a session that another caller does. Only a few callers may wait for a session
// that has stalled.
#ifndef HOLDFAST_STORE_FS_BOUNDED_WAIT_H_
#define HOLDFAST_STORE_FS_BOUNDED_WAIT_H_

#include "session/queue_progress.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>

namespace holdfast::fs {

// A session whose work takes so long without a move has stalled: its disk does not answer.
inline constexpr absl::Duration kStalledAfter = absl::Seconds(2);

// Waits, in a ScopedBlockingCall, until `free` holds. `mutex` guards `free`, `progress` and
// `waiters`, which counts those that wait here. OVERLOADED when the work has stalled and
// kWaitersPerSession others wait already.
absl::Status AwaitBounded(absl::Mutex& mutex, const absl::Condition& free, QueueProgress& progress,
                          size_t& waiters) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_BOUNDED_WAIT_H_
