// A change on the way of a call that is committed together with others.
#ifndef HOLDFAST_TESTS_SUPPORT_GROUPED_COMMIT_H_
#define HOLDFAST_TESTS_SUPPORT_GROUPED_COMMIT_H_

#include "session/change.h"
#include "session/store.h"

#include "absl/status/statusor.h"

namespace holdfast::test {

// Whether SessionStore::CommitMany takes the change.
bool MayBeGrouped(const Change& change);

// Commits `change` in a group of one, where it may be, and then by itself, where it must be.
absl::StatusOr<CommitResult> CommitInGroup(SessionStore& store, const Change& change);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_GROUPED_COMMIT_H_
