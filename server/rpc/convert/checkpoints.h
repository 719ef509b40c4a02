// Checkpoints between the wire and the domain.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_CHECKPOINTS_H_
#define HOLDFAST_SERVER_RPC_CONVERT_CHECKPOINTS_H_

#include "holdfast/v1/checkpoints.pb.h"
#include "session/checkpoint.h"
#include "session/checkpoint_reads.h"
#include "session/commands.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <optional>

namespace holdfast {

namespace pb = ::holdfast::v1;

// INVALID_FIELD for a label without a value.
absl::StatusOr<CheckpointMark> ReadCheckpointMark(const pb::NewCheckpoint& checkpoint);
// The checkpoint that a request asks for beside what it writes. INVALID_FIELD for a label without a
// value.
template <typename Request>
absl::StatusOr<std::optional<CheckpointMark>> ReadMark(const Request& request) {
  if (!request.has_checkpoint()) return std::optional<CheckpointMark>();
  absl::StatusOr<CheckpointMark> mark = ReadCheckpointMark(request.checkpoint());
  if (!mark.ok()) return mark.status();
  return std::optional<CheckpointMark>(*std::move(mark));
}

// Sets what `request` says of a checkpoint. INVALID_FIELD for a path of `update_mask` that is no
// field of a checkpoint, a status that this server does not know, and a label without a value.
absl::Status ReadCheckpointFields(const pb::PutCheckpointRequest& request,
                                  PutCheckpointCommand& command);

// What is asked for, without where the page begins. INVALID_FIELD for a kind that this server does
// not know.
absl::StatusOr<CheckpointQuery> ReadCheckpointQuery(const pb::ListCheckpointsRequest& request);

void Write(const ListedCheckpoint& listed, pb::Checkpoint& out);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_CHECKPOINTS_H_
