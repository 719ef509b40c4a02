// Results of use cases as replies.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_REPLIES_H_
#define HOLDFAST_SERVER_RPC_CONVERT_REPLIES_H_

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "session/sessions.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

void WriteReply(const Done& done, pb::CreateSessionResponse& out);
void WriteReply(const Done& done, pb::UpdateSessionResponse& out);
void WriteReply(const Resumed& resumed, pb::ResumeSessionResponse& out);
void WriteReply(const Begun& begun, pb::BeginTurnResponse& out);
void WriteReply(const Done& done, pb::AppendJournalResponse& out);
void WriteReply(const Done& done, pb::CommitTurnResponse& out);
void WriteReply(const Done& done, pb::WriteSnapshotResponse& out);
void WriteReply(const Done& done, pb::AbandonTurnResponse& out);
void WriteReply(const Done& done, pb::CloseSessionResponse& out);
void WriteReply(const Done& done, pb::CancelSessionResponse& out);
void WriteReply(const Done& done, pb::AppendAuditResponse& out);
void WriteReply(const AuditVerdict& verdict, pb::VerifyAuditResponse& out);
void WriteReply(const Done& done, pb::DeleteSessionResponse& out);
void WriteReply(const Done& done, pb::ReleaseLeaseResponse& out);

// `session` is the one that was asked about.
void WriteReply(const SessionId& session, const RequestOutcome& outcome,
                pb::GetRequestOutcomeResponse& out);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_REPLIES_H_
