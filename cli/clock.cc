#include "cli/clock.h"

#include "absl/time/clock.h"

#include <ctime>

namespace holdfast::cli {
namespace {

class RealClock final : public Clock {
 public:
  [[nodiscard]] absl::Time Wall() const override { return absl::Now(); }
  [[nodiscard]] absl::Duration Monotonic() const override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::DurationFromTimespec(now);
  }
  void Sleep(absl::Duration duration) const override { absl::SleepFor(duration); }
};

}  // namespace

const Clock& MachineClock() {
  static const RealClock kClock;
  return kClock;
}

}  // namespace holdfast::cli
