// Fail-stop: after a failed write, sync or rename nothing is known of the disk, so the store takes no more
// changes; the process ends and the restart recovers (STORES section 2, "Failures").
#ifndef HOLDFAST_STORE_FS_FAIL_STOP_H_
#define HOLDFAST_STORE_FS_FAIL_STOP_H_

#include <atomic>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "session/refusal.h"

namespace holdfast::fs {

// Any thread may call.
class FailStop {
 public:
  // Remembers the first cause and answers what the failed call is told: its outcome is unknown.
  absl::Status Fail(const absl::Status& cause) {
    const absl::MutexLock lock(&mutex_);
    if (!failed_.exchange(true)) cause_ = std::string(cause.message());
    return StoreUnavailable("the store failed and stops: the server must be restarted", Fate::kUnknown);
  }
  // OK, or what every later call is told: it was not tried.
  absl::Status Check() const {
    if (!failed_.load(std::memory_order_acquire)) return absl::OkStatus();
    return StoreUnavailable("the store has failed: the server must be restarted", Fate::kNoEffect);
  }
  // The first cause in the system's words, for the server's own log; empty while all is well.
  std::string cause() const {
    const absl::MutexLock lock(&mutex_);
    return cause_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::atomic<bool> failed_ = false;
  std::string cause_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_FAIL_STOP_H_
