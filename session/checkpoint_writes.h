// What a change does to a session's checkpoints. Pure: nothing is read but the arguments.
#ifndef HOLDFAST_SESSION_CHECKPOINT_WRITES_H_
#define HOLDFAST_SESSION_CHECKPOINT_WRITES_H_

#include "session/change.h"
#include "session/checkpoint.h"
#include "session/commands.h"
#include "session/head.h"
#include "session/snapshot_description.h"

#include "absl/status/status.h"

#include <string_view>

namespace holdfast {

// What `change` does to checkpoints, to which more may be added. The decision then rests on those
// that `head` has. The head of a session that is created is an empty one.
CheckpointWrites& CheckpointWritesOf(const Head& head, Change& change);

// Counts one checkpoint of kind MANUAL more. TOO_LARGE where a session has as many as it may.
absl::Status CountManual(CheckpointWrites& writes);

// A checkpoint of kind MANUAL of a kept snapshot of `head`, as its description has it.
Checkpoint CheckpointOf(const Head& head, const SnapshotDescription& description);

// The change pins the snapshot that it writes, for a caller. TOO_LARGE when the session has as many
// checkpoints as it may. The head of a session that is created is an empty one.
absl::Status PinThisSnapshot(const Head& head, const CheckpointMark& mark, Change& change);

// INVALID_FIELD: `revision` has the name already.
absl::Status CheckpointNameTaken(std::string_view field, Revision revision);
// RECORD_NOT_FOUND: the session has no checkpoint of this name or revision.
absl::Status CheckpointNotFound(std::string_view name);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHECKPOINT_WRITES_H_
