#include "session/kept.h"

#include "session/refusal.h"

#include <algorithm>
#include <iterator>

namespace holdfast {

absl::Status CheckKept(const Head& head, std::optional<Revision> revision) {
  if (!revision) return absl::OkStatus();
  if (*revision > head.revision) {
    return Refusal(Reason::kRevisionAhead, "this revision is not stored here")
        .With("what", "revision")
        .With("known", revision->value())
        .With("stored", head.revision.value());
  }
  if (*revision < OldestKept(head).revision) {
    return Refusal(Reason::kRevisionPruned, "this revision is no longer kept")
        .With("oldest", OldestKept(head).revision.value());
  }
  return absl::OkStatus();
}

const SnapshotRecord& SnapshotAt(const Head& head, Revision revision) {
  const auto later = std::ranges::upper_bound(
      head.snapshots, revision, {}, [](const auto& record) { return record.at.revision; });
  return *std::prev(later);
}

Position PositionOf(const Head& head) {
  return {.revision = head.revision, .journal = head.journal};
}

absl::Status Damaged(std::string_view what, uint64_t number) {
  return Refusal(Reason::kDamaged, "this part of the session cannot be read")
      .With("what", what)
      .With("number", number);
}

}  // namespace holdfast
