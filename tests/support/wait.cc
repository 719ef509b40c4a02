#include "tests/support/wait.h"

#include "absl/time/clock.h"

namespace holdfast::testing {

bool WaitUntil(absl::FunctionRef<bool()> condition, absl::Duration most) {
  constexpr absl::Duration kBetween = absl::Milliseconds(1);
  const absl::Time end = absl::Now() + most;
  while (!condition()) {
    if (absl::Now() > end) return false;
    absl::SleepFor(kBetween);
  }
  return true;
}

}  // namespace holdfast::testing
