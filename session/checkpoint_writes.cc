#include "session/checkpoint_writes.h"

#include "platform/status_macros.h"
#include "session/guard.h"
#include "session/kept.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"

#include "absl/strings/str_cat.h"

namespace holdfast {

CheckpointWrites& CheckpointWritesOf(const Head& head, Change& change) {
  if (!change.checkpoints) {
    change.checkpoints = CheckpointWrites{.manual = head.checkpoints.manual};
    // A session that is created has none that could change.
    if (!change.create && !change.premise) change.premise = PremiseOf(head);
    if (change.premise) change.premise->checkpoints = head.checkpoints.version;
  }
  return *change.checkpoints;
}

absl::Status CountManual(CheckpointWrites& writes) {
  if (writes.manual >= kCheckpointsPerSession) {
    return TooLarge("checkpoint", kCheckpointsPerSession, writes.manual + 1);
  }
  ++writes.manual;
  return absl::OkStatus();
}

Checkpoint CheckpointOf(const Head& head, const SnapshotDescription& description) {
  Checkpoint checkpoint;
  checkpoint.snapshot =
      PinnedOf(head, {.at = {.revision = description.snapshot, .journal = description.journal},
                      .generation = description.generation,
                      .messages = description.messages});
  checkpoint.turn = description.turn;
  checkpoint.history = description.digest;
  return checkpoint;
}

absl::Status PinThisSnapshot(const Head& head, const CheckpointMark& mark, Change& change) {
  CheckpointWrites& writes = CheckpointWritesOf(head, change);
  RETURN_IF_ERROR(CountManual(writes));
  CheckpointPut put{.of_this_snapshot = true, .takes_name = !mark.name.empty()};
  put.checkpoint.name = mark.name;
  put.checkpoint.labels = mark.labels;
  writes.puts.push_back(std::move(put));
  change.events.push_back(
      {.name = kSessionCheckpointed, .payload = {{"name", mark.name}}, .given = {}});
  change.audit->data["checkpoint"] = mark.name;
  return absl::OkStatus();
}

absl::Status CheckpointNameTaken(std::string_view field, Revision revision) {
  return InvalidField(field,
                      absl::StrCat("is the name of the checkpoint at revision ", revision.value()));
}

absl::Status CheckpointNotFound(std::string_view name) {
  return Refusal(Reason::kRecordNotFound, "the session has no such checkpoint")
      .With("what", "checkpoint")
      .With("name", name);
}

}  // namespace holdfast
