// Whether the workers make progress: what the health service says by the name of `liveness`.
#ifndef HOLDFAST_SERVER_WORKER_STALL_H_
#define HOLDFAST_SERVER_WORKER_STALL_H_

#include "server/worker_pool.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstdint>

namespace holdfast {

// A watchdog of the worker pool. The workers are stalled when tasks wait for a core, and for
// kWorkerStallMost no worker has begun a task, ended one, or gone to a wait or come back from one.
// Workers that wait for the store want no core, and stall nothing however long it takes. So are
// they when nothing has looked at them for so long.
//
// Any thread may call.
class WorkerStall final {
 public:
  // `now` is the time since boot, here and below.
  explicit WorkerStall(absl::Duration now) : well_(now) {}

  // Takes what the pool says now. To be called every kWorkerBeat.
  void Look(const WorkerPool::Activity& seen, absl::Duration now);
  [[nodiscard]] bool Stalled(absl::Duration now) const;

 private:
  mutable absl::Mutex mutex_;
  uint64_t steps_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration well_ ABSL_GUARDED_BY(mutex_);  // when the workers were last seen to make progress
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_WORKER_STALL_H_
