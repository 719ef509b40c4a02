// A change that is sent again while its session is overloaded.
#ifndef HOLDFAST_TESTS_FAULTS_ADMITTED_H_
#define HOLDFAST_TESTS_FAULTS_ADMITTED_H_

#include "session/refusal.h"
#include "session/store.h"
#include "tests/support/wait.h"

namespace holdfast::test {

// Commits `change` until the answer is not OVERLOADED. A session whose disk takes longer than two
// seconds for a sync gives that answer, without effect, to all but a few of its waiters.
inline absl::StatusOr<CommitResult> CommitAdmitted(SessionStore& store, const Change& change) {
  absl::StatusOr<CommitResult> result;
  testing::WaitUntil([&] {
    result = store.Commit(change);
    return !Is(result.status(), Reason::kOverloaded);
  });
  return result;
}

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_FAULTS_ADMITTED_H_
