// Counts the blocking calls (platform/scoped_blocking_call.h) of a function.
#ifndef HOLDFAST_TESTS_SUPPORT_COUNTED_WAITS_H_
#define HOLDFAST_TESTS_SUPPORT_COUNTED_WAITS_H_

#include "platform/scoped_blocking_call.h"

#include "absl/functional/function_ref.h"

namespace holdfast::testing {

// Does `act` on a thread of its own; answers how many blocking calls it made.
int WaitsOf(absl::FunctionRef<void()> act);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_COUNTED_WAITS_H_
