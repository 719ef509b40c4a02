#include "store-fs/bounded_wait.h"

#include "platform/scoped_blocking_call.h"
#include "session/limits.h"

#include <cstdint>

namespace holdfast::fs {

absl::Status AwaitBounded(absl::Mutex& mutex, const absl::Condition& free, QueueProgress& progress,
                          size_t& waiters) {
  if (progress.stalled() && waiters >= kWaitersPerSession) return SessionBusy();
  ++waiters;
  const ScopedBlockingCall blocking;
  absl::Status status;
  while (status.ok()) {
    const uint64_t seen = progress.moves();
    if (mutex.AwaitWithTimeout(free, kStalledAfter)) break;
    progress.NoteTimeout(seen);
    if (progress.stalled() && waiters > kWaitersPerSession) status = SessionBusy();
  }
  --waiters;
  return status;
}

}  // namespace holdfast::fs
