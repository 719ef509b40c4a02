#include "session/store.h"

#include "session/refusal.h"

#include <utility>

namespace holdfast {

std::vector<GroupedResult> SessionStore::CommitMany(const std::vector<GroupedChange>& changes) {
  std::vector<GroupedResult> results;
  results.reserve(changes.size());
  for (const GroupedChange& member : changes) {
    absl::StatusOr<CommitResult> result = Commit(*member.change);
    GroupedResult& answer = results.emplace_back();
    if (!result.ok()) {
      if (OutcomeIsUnknown(result.status())) answer.kind = GroupedResult::Kind::kInDoubt;
    } else if (result->kind == CommitResult::Kind::kApplied) {
      answer = {.kind = GroupedResult::Kind::kDone, .result = std::move(result)};
    }
  }
  return results;
}

}  // namespace holdfast
