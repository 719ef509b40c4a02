// The one place where a test waits for another process: for a condition, and never for a time.
#ifndef HOLDFAST_TESTS_SUPPORT_WAIT_H_
#define HOLDFAST_TESTS_SUPPORT_WAIT_H_

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace holdfast::testing {

// Asks `condition` again and again until it holds. False when it did not within `most`.
bool WaitUntil(absl::FunctionRef<bool()> condition, absl::Duration most = absl::Minutes(1));

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_WAIT_H_
