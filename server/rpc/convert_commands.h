// Requests as commands. What is wrong with a field's form is found here; what is wrong with its
// meaning is found by session/validate. Every error is INVALID_FIELD with the field's path, or
// IMMUTABLE_FIELD.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_COMMANDS_H_
#define HOLDFAST_SERVER_RPC_CONVERT_COMMANDS_H_

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "session/commands.h"

#include "absl/status/statusor.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

absl::StatusOr<CreateCommand> ReadCreate(const pb::CreateSessionRequest& request);
absl::StatusOr<UpdateCommand> ReadUpdate(const pb::UpdateSessionRequest& request);
absl::StatusOr<ResumeCommand> ReadResume(const pb::ResumeSessionRequest& request);
absl::StatusOr<BeginTurnCommand> ReadBeginTurn(const pb::BeginTurnRequest& request);
absl::StatusOr<AppendJournalCommand> ReadAppendJournal(const pb::AppendJournalRequest& request);
absl::StatusOr<CommitTurnCommand> ReadCommitTurn(const pb::CommitTurnRequest& request);
absl::StatusOr<WriteCommand> ReadWrite(const pb::WriteRequest& request);
absl::StatusOr<AbandonTurnCommand> ReadAbandonTurn(const pb::AbandonTurnRequest& request);
absl::StatusOr<CloseCommand> ReadClose(const pb::CloseSessionRequest& request);
absl::StatusOr<CancelCommand> ReadCancel(const pb::CancelSessionRequest& request);
absl::StatusOr<AppendAuditCommand> ReadAppendAudit(const pb::AppendAuditRequest& request);
absl::StatusOr<DeleteCommand> ReadDelete(const pb::DeleteSessionRequest& request);
absl::StatusOr<ReleaseCommand> ReadRelease(const pb::ReleaseLeaseRequest& request);
absl::StatusOr<OutcomeQuery> ReadOutcomeQuery(const pb::GetRequestOutcomeRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_COMMANDS_H_
