// Time and randomness come in through the constructor, so that a test decides both.
#ifndef HOLDFAST_PLATFORM_CLOCK_H_
#define HOLDFAST_PLATFORM_CLOCK_H_

#include "absl/time/time.h"

#include <cstddef>
#include <string>

namespace holdfast {

// Any thread may call.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  // The time for people, in UTC. Never decides anything.
  [[nodiscard]] virtual absl::Time Wall() const = 0;
  // Time since boot, suspended time included (CLOCK_BOOTTIME). Leases expire by it.
  [[nodiscard]] virtual absl::Duration SinceBoot() const = 0;
};

// Any thread may call.
class Random {
 public:
  Random() = default;
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;
  virtual ~Random() = default;

  // `count` unguessable bytes.
  [[nodiscard]] virtual std::string Bytes(size_t count) = 0;
};

// The machine's own. Both live as long as the process.
const Clock& SystemClock();
Random& SystemRandom();

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_CLOCK_H_
