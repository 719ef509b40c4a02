// Requests as commands: texts and bytes are moved out of the request, and not copied. What is wrong
// with a field's form is found here; what is wrong with its meaning is found by session/validate.
// Every error is INVALID_FIELD with the field's path, or IMMUTABLE_FIELD.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_COMMANDS_H_
#define HOLDFAST_SERVER_RPC_CONVERT_COMMANDS_H_

#include "holdfast/v1/item_service.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "session/commands.h"

#include "absl/status/statusor.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

absl::StatusOr<CreateCommand> ReadCreate(pb::CreateSessionRequest&& request);
absl::StatusOr<UpdateCommand> ReadUpdate(pb::UpdateSessionRequest&& request);
absl::StatusOr<ResumeCommand> ReadResume(pb::ResumeSessionRequest&& request);
absl::StatusOr<BeginTurnCommand> ReadBeginTurn(pb::BeginTurnRequest&& request);
absl::StatusOr<AppendJournalCommand> ReadAppendJournal(pb::AppendJournalRequest&& request);
absl::StatusOr<CommitTurnCommand> ReadCommitTurn(pb::CommitTurnRequest&& request);
absl::StatusOr<WriteCommand> ReadWrite(pb::WriteSnapshotRequest&& request);
absl::StatusOr<AbandonTurnCommand> ReadAbandonTurn(pb::AbandonTurnRequest&& request);
absl::StatusOr<RestoreCommand> ReadRestore(pb::RestoreSessionRequest&& request);
absl::StatusOr<PutCheckpointCommand> ReadPutCheckpoint(pb::PutCheckpointRequest&& request);
absl::StatusOr<DeleteCheckpointCommand> ReadDeleteCheckpoint(pb::DeleteCheckpointRequest&& request);
absl::StatusOr<CloseCommand> ReadClose(pb::CloseSessionRequest&& request);
absl::StatusOr<CancelCommand> ReadCancel(pb::CancelSessionRequest&& request);
absl::StatusOr<AppendAuditCommand> ReadAppendAudit(pb::AppendAuditRequest&& request);
absl::StatusOr<PutItemsCommand> ReadPutItems(pb::PutItemsRequest&& request);
absl::StatusOr<DeleteCommand> ReadDelete(pb::DeleteSessionRequest&& request);
absl::StatusOr<ReleaseCommand> ReadRelease(pb::ReleaseLeaseRequest&& request);
absl::StatusOr<OutcomeQuery> ReadOutcomeQuery(const pb::GetRequestOutcomeRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_COMMANDS_H_
