// The checkpoint that a call is about, read before the call is decided.
#ifndef HOLDFAST_SESSION_CHECKPOINT_TARGET_H_
#define HOLDFAST_SESSION_CHECKPOINT_TARGET_H_

#include "session/checkpoint.h"
#include "session/commands.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <optional>
#include <vector>

namespace holdfast {

struct CheckpointTarget {
  Checkpoint checkpoint;             // as it is, or as it would be without what the call says
  bool exists = false;               // a checkpoint of kind MANUAL
  std::optional<Revision> has_name;  // of the checkpoint that has the name of the call
};

// REVISION_AHEAD, REVISION_PRUNED of a snapshot that is not there. RECORD_NOT_FOUND where the call
// says that a checkpoint must exist. DAMAGED; errors of the store.
absl::StatusOr<CheckpointTarget> ReadTarget(SessionStore& store, const SessionKey& key,
                                            const Head& head, const PutCheckpointCommand& command);
// All checkpoints of the revision that the call means, at least one. RECORD_NOT_FOUND; DAMAGED;
// errors of the store.
absl::StatusOr<std::vector<Checkpoint>> ReadTarget(SessionStore& store, const SessionKey& key,
                                                   const DeleteCheckpointCommand& command);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHECKPOINT_TARGET_H_
