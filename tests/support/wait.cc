#include "tests/support/wait.h"

#include "absl/time/clock.h"

#include <cstdlib>

namespace holdfast::testing {

absl::Duration WaitMost() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets a variable while tests run
  return std::getenv("HOLDFAST_SHORT_WAITS") == nullptr ? absl::Minutes(5) : absl::Seconds(30);
}

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
