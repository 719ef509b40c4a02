// A clock that moves only when a test moves it.
#ifndef HOLDFAST_TESTS_SUPPORT_FAKE_CLOCK_H_
#define HOLDFAST_TESTS_SUPPORT_FAKE_CLOCK_H_

#include "session/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast::test {

// Any thread may call.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] absl::Time Wall() const override {
    const absl::MutexLock lock(&mutex_);
    return wall_;
  }
  [[nodiscard]] absl::Duration SinceBoot() const override {
    const absl::MutexLock lock(&mutex_);
    return since_boot_;
  }

  // Lets `passed` pass on both clocks.
  void Advance(absl::Duration passed) {
    const absl::MutexLock lock(&mutex_);
    wall_ += passed;
    since_boot_ += passed;
  }
  // Sets the clock for people alone, as an operator or a time server does.
  void JumpWall(absl::Duration by) {
    const absl::MutexLock lock(&mutex_);
    wall_ += by;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Time wall_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'700'000'000);
  absl::Duration since_boot_ ABSL_GUARDED_BY(mutex_) = absl::Hours(100);
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_FAKE_CLOCK_H_
