#include "tests/support/grouped_commit.h"

#include "session/refusal.h"

#include <cstddef>
#include <utility>

namespace holdfast::test {

bool MayBeGrouped(const Change& change) {
  if (change.create || change.tombstone || change.upload) return false;
  return change.request.has_value() || !change.entries.empty();
}

std::vector<absl::StatusOr<CommitResult>> CommitTogether(SessionStore& store,
                                                         const std::vector<Change>& changes) {
  std::vector<GroupedChange> grouped;
  for (const Change& change : changes) grouped.push_back({.change = &change, .span = {}});
  std::vector<GroupedResult> first = store.CommitMany(grouped);
  std::vector<absl::StatusOr<CommitResult>> results;
  for (size_t i = 0; i < changes.size(); ++i) {
    results.push_back(CommitBehindGroup(store, changes[i], std::move(first[i])));
  }
  return results;
}

absl::StatusOr<CommitResult> CommitInGroup(SessionStore& store, const Change& change) {
  if (!MayBeGrouped(change)) return store.Commit(change);
  return std::move(CommitTogether(store, {change}).front());
}

absl::StatusOr<CommitResult> CommitBehindGroup(SessionStore& store, const Change& change,
                                               GroupedResult result) {
  if (result.kind == GroupedResult::Kind::kDone) return std::move(result.result);
  absl::StatusOr<CommitResult> alone = store.Commit(change);
  if (result.kind == GroupedResult::Kind::kAlone || alone.ok()) return alone;
  return LeaveInDoubt(alone.status());
}

}  // namespace holdfast::test
