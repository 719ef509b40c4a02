// What a session of the reference store may hold at most: C198 to C202, counted anew on what a
// change leaves.
#ifndef HOLDFAST_TESTS_SUPPORT_REFERENCE_BOUNDS_H_
#define HOLDFAST_TESTS_SUPPORT_REFERENCE_BOUNDS_H_

#include "session/head.h"
#include "session/refusal.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_effects.h"

#include <optional>

namespace holdfast::test {

// TOO_LARGE when `effects` leave more than a session may hold, and more than `session`, whose head
// is `before`, held.
std::optional<Refusal> CheckWhatIsLeft(const StoredSession& session, const Head& before,
                                       const Effects& effects);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_REFERENCE_BOUNDS_H_
