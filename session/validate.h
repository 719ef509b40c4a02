// What a command must look like before anything is loaded: every bound of limits.h, with the
// field's name in the refusal.
#ifndef HOLDFAST_SESSION_VALIDATE_H_
#define HOLDFAST_SESSION_VALIDATE_H_

#include "session/commands.h"
#include "session/related_items.h"

#include "absl/status/status.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {

// Each answers OK, or INVALID_FIELD, TOO_LARGE, SLOT_VERSION_MISSING or SLOT_ACCESS_DENIED for the
// first field that is not valid. Field paths are those of the wire, for example "slots[2].version".
absl::Status Validate(const CreateCommand& command);
absl::Status Validate(const UpdateCommand& command);
absl::Status Validate(const ResumeCommand& command);
absl::Status Validate(const AppendJournalCommand& command);
absl::Status Validate(const CommitTurnCommand& command);
absl::Status Validate(const WriteCommand& command);
absl::Status Validate(const RestoreCommand& command);
absl::Status Validate(const AbandonTurnCommand& command);
absl::Status Validate(const CloseCommand& command);
absl::Status Validate(const CancelCommand& command);
absl::Status Validate(const AppendAuditCommand& command);
absl::Status Validate(const PutItemsCommand& command);
absl::Status Validate(const PutCheckpointCommand& command);
absl::Status Validate(const DeleteCheckpointCommand& command);
absl::Status Validate(const RelatedQuery& related);
// Of a session that is created where it is missing, by a call that grants no lease. INVALID_FIELD
// on `create_if_missing.kind` for another kind than OPEN.
absl::Status ValidateMissing(const CreateCommand& command);
// Of a checkpoint that a call asks for beside what it writes.
absl::Status ValidateMark(const CheckpointMark& mark);
// Of the name of an item that a client can have put: INVALID_FIELD and TOO_LARGE.
absl::Status ValidateItemName(const std::string& path, const ItemName& name);
absl::Status ValidateLabels(const std::string& path, const ItemLabels& labels);
// INVALID_FIELD and TOO_LARGE for a text that has control characters, or more than `most` bytes.
absl::Status ValidateText(std::string_view field, std::string_view text, size_t most);
// INVALID_FIELD and TOO_LARGE for a text that is no group, nor the beginning of one.
absl::Status ValidateGroup(std::string_view field, const std::string& group);
absl::Status ValidateExpected(const std::vector<ExpectedSlot>& expected);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_VALIDATE_H_
