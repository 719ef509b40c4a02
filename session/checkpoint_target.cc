#include "session/checkpoint_target.h"

#include "platform/status_macros.h"
#include "session/checkpoint_reads.h"
#include "session/checkpoint_writes.h"
#include "session/kept.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast {
namespace {

std::string RevisionText(Revision revision) { return std::to_string(revision.value()); }

// The checkpoint of one of the server's own, as a caller's.
Checkpoint AsManual(const Checkpoint& own) {
  Checkpoint checkpoint;
  checkpoint.snapshot = own.snapshot;
  checkpoint.turn = own.turn;
  checkpoint.history = own.history;
  return checkpoint;
}

}  // namespace

absl::StatusOr<CheckpointTarget> ReadTarget(SessionStore& store, const SessionKey& key,
                                            const Head& head, const PutCheckpointCommand& command) {
  CheckpointTarget target;
  const std::string name = command.name.value_or("");
  if (!name.empty()) {
    ASSIGN_OR_RETURN(target.has_name, ReadCheckpointNamed(store, key, name));
  }
  if (command.must_exist && !command.revision && !target.has_name) return CheckpointNotFound(name);
  const Revision last = head.snapshots.back().at.revision;
  Revision revision = command.revision.value_or(target.has_name.value_or(last));
  ASSIGN_OR_RETURN(std::vector<Checkpoint> there, ReadCheckpointsAt(store, key, revision));
  if (there.empty()) {
    RETURN_IF_ERROR(CheckKept(head, revision));
    revision = SnapshotAt(head, revision).at.revision;
    ASSIGN_OR_RETURN(there, ReadCheckpointsAt(store, key, revision));
  }
  const auto manual = std::ranges::find(there, CheckpointKind::kManual, &Checkpoint::kind);
  target.exists = manual != there.end();
  if (target.exists) {
    target.checkpoint = std::move(*manual);
    return target;
  }
  if (command.must_exist) return CheckpointNotFound(RevisionText(revision));
  if (!there.empty()) {
    target.checkpoint = AsManual(there.front());
    return target;
  }
  ASSIGN_OR_RETURN(const SnapshotDescription description,
                   ReadSnapshotDescription(store, key, revision));
  target.checkpoint = CheckpointOf(head, description);
  return target;
}

absl::StatusOr<std::vector<Checkpoint>> ReadTarget(SessionStore& store, const SessionKey& key,
                                                   const DeleteCheckpointCommand& command) {
  std::optional<Revision> revision = command.revision;
  if (!revision) {
    ASSIGN_OR_RETURN(revision, ReadCheckpointNamed(store, key, command.name));
  }
  if (!revision) return CheckpointNotFound(command.name);
  ASSIGN_OR_RETURN(std::vector<Checkpoint> there, ReadCheckpointsAt(store, key, *revision));
  if (there.empty()) return CheckpointNotFound(RevisionText(*revision));
  return there;
}

}  // namespace holdfast
