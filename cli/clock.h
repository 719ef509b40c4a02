// Time for the command line: it waits between attempts and stamps its log. A test gives its own.
#ifndef HOLDFAST_CLI_CLOCK_H_
#define HOLDFAST_CLI_CLOCK_H_

#include "absl/time/time.h"

namespace holdfast::cli {

// Any thread may call.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  // The time for people.
  [[nodiscard]] virtual absl::Time Wall() const = 0;
  // Time that only goes forward and that all processes of the machine share (CLOCK_MONOTONIC).
  [[nodiscard]] virtual absl::Duration Monotonic() const = 0;
  // Blocks the calling thread.
  virtual void Sleep(absl::Duration duration) const = 0;
};

// The machine's own; lives as long as the process.
const Clock& MachineClock();

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_CLOCK_H_
