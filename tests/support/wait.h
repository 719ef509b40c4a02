// The one place where a test waits for another process: for a condition, and never for a time.
#ifndef HOLDFAST_TESTS_SUPPORT_WAIT_H_
#define HOLDFAST_TESTS_SUPPORT_WAIT_H_

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace holdfast::testing {

// The bound of a wait for what must happen: five minutes, so that a loaded machine or a slow disk
// fails no test. Half a minute where $HOLDFAST_SHORT_WAITS is set, as tests/saboteurs does, where
// the wait is expected to fail.
absl::Duration WaitMost();

// Asks `condition` again and again until it holds. False when it did not within `most`.
bool WaitUntil(absl::FunctionRef<bool()> condition, absl::Duration most = WaitMost());

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_WAIT_H_
