// How often something says that it waits for something else than a core.
#ifndef HOLDFAST_TESTS_SUPPORT_COUNTED_WAITS_H_
#define HOLDFAST_TESTS_SUPPORT_COUNTED_WAITS_H_

#include "session/off_core.h"

#include "absl/functional/function_ref.h"

namespace holdfast::testing {

// Does `act` on a thread of its own; answers how often that one was off the core.
int WaitsOf(absl::FunctionRef<void()> act);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_COUNTED_WAITS_H_
