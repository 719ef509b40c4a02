// The machine's clock, on which a test can let time pass: deadlines on the wire stay real.
#ifndef HOLDFAST_TESTS_RPC_MOVED_CLOCK_H_
#define HOLDFAST_TESTS_RPC_MOVED_CLOCK_H_

#include "session/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast::test {

// Any thread may call.
class MovedClock final : public Clock {
 public:
  [[nodiscard]] absl::Time Wall() const override { return SystemClock().Wall(); }
  [[nodiscard]] absl::Duration SinceBoot() const override {
    const absl::MutexLock lock(&mutex_);
    return SystemClock().SinceBoot() + moved_;
  }
  void Advance(absl::Duration by) {
    const absl::MutexLock lock(&mutex_);
    moved_ += by;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Duration moved_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_RPC_MOVED_CLOCK_H_
