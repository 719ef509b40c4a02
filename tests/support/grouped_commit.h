// Changes on the way of calls that are committed together with others.
#ifndef HOLDFAST_TESTS_SUPPORT_GROUPED_COMMIT_H_
#define HOLDFAST_TESTS_SUPPORT_GROUPED_COMMIT_H_

#include "session/change.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <vector>

namespace holdfast::test {

// Whether SessionStore::CommitMany takes the change.
bool MayBeGrouped(const Change& change);

// Commits `changes`, each of another session, in one group, and then by itself what the group has
// left alone.
std::vector<absl::StatusOr<CommitResult>> CommitTogether(SessionStore& store,
                                                         const std::vector<Change>& changes);

// Commits `change` in a group of one, where it may be, and then by itself, where it must be.
absl::StatusOr<CommitResult> CommitInGroup(SessionStore& store, const Change& change);

// The answer of a change whose group left it `result`: from the group, or by itself.
absl::StatusOr<CommitResult> CommitBehindGroup(SessionStore& store, const Change& change,
                                               GroupedResult result);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_GROUPED_COMMIT_H_
