#include "server/rpc/convert/checkpoints.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/items.h"
#include "session/refusal.h"

#include <string>

namespace holdfast {

absl::StatusOr<CheckpointMark> ReadCheckpointMark(const pb::NewCheckpoint& checkpoint) {
  CheckpointMark mark{.name = checkpoint.name(), .labels = {}};
  ASSIGN_OR_RETURN(mark.labels, ReadLabels("checkpoint.labels", checkpoint.labels()));
  return mark;
}

absl::Status ReadCheckpointFields(const pb::PutCheckpointRequest& request,
                                  PutCheckpointCommand& command) {
  const auto& paths = request.update_mask().paths();
  command.must_exist = !paths.empty();
  bool sets_name = paths.empty() && !request.name().empty();
  bool sets_status = paths.empty() && request.status() != pb::CHECKPOINT_STATUS_UNSPECIFIED;
  bool sets_labels = paths.empty() && !request.labels().empty();
  for (const std::string& path : paths) {
    sets_name = sets_name || path == "name";
    sets_status = sets_status || path == "status";
    sets_labels = sets_labels || path == "labels";
    if (path != "name" && path != "status" && path != "labels") {
      return InvalidField("update_mask", "paths must be name, status or labels");
    }
  }
  if (sets_name) command.name = request.name();
  if (sets_status) {
    ASSIGN_OR_RETURN(command.status, ReadCheckpointStatus("status", request.status()));
  }
  if (sets_labels) {
    ASSIGN_OR_RETURN(command.labels, ReadLabels("labels", request.labels()));
  }
  // A name that is not to be set says which checkpoint it is, where no revision does.
  const bool names = !sets_name && !request.name().empty() && request.revision() == 0;
  if (names) command.name = request.name();
  return absl::OkStatus();
}

absl::StatusOr<CheckpointQuery> ReadCheckpointQuery(const pb::ListCheckpointsRequest& request) {
  CheckpointQuery query{.only_valid = request.only_valid(),
                        .include_window = request.include_window()};
  for (const int kind : request.kinds()) {
    ASSIGN_OR_RETURN(query.kinds.emplace_back(),
                     ReadCheckpointKind("kinds", static_cast<pb::CheckpointKind>(kind)));
  }
  ASSIGN_OR_RETURN(query.labels, ReadLabels("labels", request.labels()));
  if (query.include_window && !query.labels.empty()) {
    return InvalidField("include_window", "must be left out beside labels, which no snapshot has");
  }
  return query;
}

void Write(const ListedCheckpoint& listed, pb::Checkpoint& out) {
  const Checkpoint& checkpoint = listed.checkpoint;
  out.set_revision(checkpoint.revision().value());
  out.set_generation(checkpoint.snapshot.record.generation.value());
  out.set_message_count(checkpoint.snapshot.record.messages.value());
  out.set_turn(checkpoint.turn.value());
  out.set_history_digest(std::string(View(checkpoint.history)));
  if (!listed.is_pinned) return;
  out.set_kind(ToWire(checkpoint.kind));
  out.set_name(checkpoint.name);
  out.set_status(ToWire(checkpoint.status));
  Write(checkpoint.labels, *out.mutable_labels());
  *out.mutable_create_time() = ToWire(checkpoint.created_at);
}

}  // namespace holdfast
