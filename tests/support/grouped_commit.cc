#include "tests/support/grouped_commit.h"

#include "session/refusal.h"

#include <utility>
#include <vector>

namespace holdfast::test {

bool MayBeGrouped(const Change& change) {
  if (change.create || change.tombstone || change.upload) return false;
  return change.request.has_value() || !change.entries.empty();
}

absl::StatusOr<CommitResult> CommitInGroup(SessionStore& store, const Change& change) {
  if (!MayBeGrouped(change)) return store.Commit(change);
  GroupedResult first = std::move(store.CommitMany({{.change = &change, .span = {}}}).front());
  if (first.kind == GroupedResult::Kind::kDone) return std::move(first.result);
  absl::StatusOr<CommitResult> result = store.Commit(change);
  if (first.kind == GroupedResult::Kind::kAlone || result.ok()) return result;
  return LeaveInDoubt(result.status());
}

}  // namespace holdfast::test
