#include "platform/status_macros.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/validate.h"

namespace holdfast {

absl::Status ValidateMark(const CheckpointMark& mark) {
  RETURN_IF_ERROR(ValidateText("checkpoint.name", mark.name, kCheckpointNameBytes));
  return ValidateLabels("checkpoint.labels", mark.labels);
}

absl::Status Validate(const PutCheckpointCommand& command) {
  if (command.name) {
    RETURN_IF_ERROR(ValidateText("name", *command.name, kCheckpointNameBytes));
  }
  if (command.must_exist && !command.revision && command.name.value_or("").empty()) {
    return InvalidField("name", "must name the checkpoint where its revision is left out");
  }
  return command.labels ? ValidateLabels("labels", *command.labels) : absl::OkStatus();
}

absl::Status Validate(const DeleteCheckpointCommand& command) {
  if (command.revision && !command.name.empty()) {
    return InvalidField("name", "must be left out beside a revision");
  }
  if (!command.revision && command.name.empty()) {
    return InvalidField("name", "must be set where the revision is left out");
  }
  return ValidateText("name", command.name, kCheckpointNameBytes);
}

}  // namespace holdfast
