// Results of use cases as replies.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_REPLIES_H_
#define HOLDFAST_SERVER_RPC_CONVERT_REPLIES_H_

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "session/sessions.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

void WriteReply(const MutationResult& result, pb::CreateSessionResponse& out);
void WriteReply(const MutationResult& result, pb::UpdateSessionResponse& out);
void WriteReply(const ResumeResult& resumed, pb::ResumeSessionResponse& out);
void WriteReply(const BeginTurnResult& begun, pb::BeginTurnResponse& out);
void WriteReply(const MutationResult& result, pb::AppendJournalResponse& out);
void WriteReply(const MutationResult& result, pb::CommitTurnResponse& out);
void WriteReply(const MutationResult& result, pb::WriteSnapshotResponse& out);
void WriteReply(const MutationResult& result, pb::AbandonTurnResponse& out);
void WriteReply(const RestoreResult& restored, pb::RestoreSessionResponse& out);
void WriteReply(const CheckpointResult& put, pb::PutCheckpointResponse& out);
void WriteReply(const MutationResult& result, pb::DeleteCheckpointResponse& out);
void WriteReply(const MutationResult& result, pb::CloseSessionResponse& out);
void WriteReply(const MutationResult& result, pb::CancelSessionResponse& out);
void WriteReply(const MutationResult& result, pb::AppendAuditResponse& out);
void WriteReply(const AuditVerdict& verdict, pb::VerifyAuditResponse& out);
void WriteReply(const MutationResult& result, pb::PutItemsResponse& out);
void WriteReply(const MutationResult& result, pb::DeleteSessionResponse& out);
void WriteReply(const MutationResult& result, pb::ReleaseLeaseResponse& out);

// `session` is the one that was asked about.
void WriteReply(const SessionId& session, const RequestOutcome& outcome,
                pb::GetRequestOutcomeResponse& out);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_REPLIES_H_
