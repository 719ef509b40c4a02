// A process whose clock for people is off, by Debian's libfaketime and tests/preload.
#ifndef HOLDFAST_TESTS_SUPPORT_WRONG_CLOCK_H_
#define HOLDFAST_TESTS_SUPPORT_WRONG_CLOCK_H_

#include "tests/support/server_process.h"

#include <string>
#include <utility>
#include <vector>

namespace holdfast::testing {

// What a process that is started gets beside the test's own environment.
using Environment = std::vector<std::pair<std::string, std::string>>;

// Sets variables until it goes away. For tests that start processes from one thread.
class ScopedEnvironment final {
 public:
  explicit ScopedEnvironment(Environment environment);
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment();

 private:
  const Environment environment_;
};

// The machine's clock is off by so many seconds for the process; time since boot is not, and
// neither are the times of files. `folder` must live as long as the process.
Environment ClockOff(const TestFolder& folder, int seconds);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_WRONG_CLOCK_H_
