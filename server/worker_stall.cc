#include "server/worker_stall.h"

#include "session/limits.h"

namespace holdfast {

void WorkerStall::Look(const WorkerPool::Activity& seen, absl::Duration now) {
  const absl::MutexLock lock(&mutex_);
  const bool stalled = seen.wait_for_core && seen.steps == steps_;
  steps_ = seen.steps;
  if (!stalled) well_ = now;
}

bool WorkerStall::Stalled(absl::Duration now) const {
  const absl::MutexLock lock(&mutex_);
  return now - well_ >= kWorkerStallMost;
}

}  // namespace holdfast
