#include "tests/support/checkpoint_changes.h"

#include "session/guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace holdfast::test {

Checkpoint CheckpointAt(const Head& head, Revision revision, CheckpointKind kind) {
  Checkpoint checkpoint;
  checkpoint.kind = kind;
  const auto record = std::ranges::find(head.snapshots, revision,
                                        [](const SnapshotRecord& one) { return one.at.revision; });
  if (record == head.snapshots.end()) {
    ADD_FAILURE() << "no snapshot at revision " << revision.value();
  } else {
    checkpoint.snapshot = PinnedOf(head, *record);
  }
  return checkpoint;
}

CheckpointPut Named(Checkpoint checkpoint, std::string name) {
  checkpoint.name = std::move(name);
  return {.checkpoint = std::move(checkpoint), .takes_name = true};
}

Change WithCheckpoints(Change change, const Head& head, std::vector<CheckpointPut> puts,
                       std::vector<ItemName> deletes) {
  CheckpointWrites writes{
      .puts = std::move(puts), .deletes = std::move(deletes), .manual = head.checkpoints.manual};
  for (const CheckpointPut& put : writes.puts) {
    if (put.checkpoint.kind == CheckpointKind::kManual) ++writes.manual;
  }
  for (const ItemName& name : writes.deletes) {
    if (CheckpointKindOf(name) == CheckpointKind::kManual) --writes.manual;
  }
  change.premise = PremiseOf(head);
  change.premise->checkpoints = head.checkpoints.version;
  change.checkpoints = std::move(writes);
  return change;
}

Change OfCheckpoints(Changes& changes, const Head& head, std::vector<CheckpointPut> puts,
                     std::vector<ItemName> deletes) {
  Change change = changes.Update({});
  change.request->method = Method::kPutCheckpoint;
  change.guard.trigger = Trigger::kPutCheckpoint;
  change.audit = AuditDraft{.audit_class = "SessionLifecycle", .code = "checkpoint", .data = {}};
  return WithCheckpoints(std::move(change), head, std::move(puts), std::move(deletes));
}

}  // namespace holdfast::test
