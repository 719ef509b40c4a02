// A clock that moves only when a test moves it.
#ifndef HOLDFAST_TESTS_SUPPORT_FAKE_CLOCK_H_
#define HOLDFAST_TESTS_SUPPORT_FAKE_CLOCK_H_

#include "platform/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <functional>
#include <utility>

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

  // Lets `passed` pass on both clocks, and on whatever else moves with them. A read meanwhile waits
  // until all of them have moved.
  void Advance(absl::Duration passed) {
    const absl::MutexLock lock(&mutex_);
    wall_ += passed;
    since_boot_ += passed;
    if (moves_along_) moves_along_(passed);
  }
  // Called with each advance: for a clock that is not in this process. Set before any.
  void MovesAlong(std::function<void(absl::Duration passed)> moves_along) {
    moves_along_ = std::move(moves_along);
  }
  // Sets the clock for people alone, as an operator or a time server does.
  void JumpWall(absl::Duration by) {
    const absl::MutexLock lock(&mutex_);
    wall_ += by;
  }

 private:
  std::function<void(absl::Duration)> moves_along_;
  mutable absl::Mutex mutex_;
  absl::Time wall_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'700'000'000);
  absl::Duration since_boot_ ABSL_GUARDED_BY(mutex_) = absl::Hours(100);
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_FAKE_CLOCK_H_
