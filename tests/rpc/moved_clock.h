// The machine's clock, on which a test can let time pass: deadlines on the wire stay real.
#ifndef HOLDFAST_TESTS_RPC_MOVED_CLOCK_H_
#define HOLDFAST_TESTS_RPC_MOVED_CLOCK_H_

#include "platform/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <optional>

namespace holdfast::test {

// Any thread may call.
class MovedClock final : public Clock {
 public:
  [[nodiscard]] absl::Time Wall() const override { return SystemClock().Wall(); }
  [[nodiscard]] absl::Duration SinceBoot() const override {
    const absl::MutexLock lock(&mutex_);
    return stopped_at_.value_or(SystemClock().SinceBoot()) + moved_;
  }
  void Advance(absl::Duration by) {
    const absl::MutexLock lock(&mutex_);
    moved_ += by;
  }
  // Until Go the time since boot passes only by Advance.
  void Stop() {
    const absl::MutexLock lock(&mutex_);
    stopped_at_ = SystemClock().SinceBoot();
  }
  void Go() {
    const absl::MutexLock lock(&mutex_);
    stopped_at_.reset();
  }

 private:
  mutable absl::Mutex mutex_;
  std::optional<absl::Duration> stopped_at_ ABSL_GUARDED_BY(mutex_);
  absl::Duration moved_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_RPC_MOVED_CLOCK_H_
