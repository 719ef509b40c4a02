#include "server/rpc/session_service.h"

#include "server/rpc/append_journal_reactor.h"
#include "server/rpc/convert_commands.h"
#include "server/rpc/convert_replies.h"
#include "server/rpc/draining_close.h"
#include "server/rpc/read_session_reactor.h"
#include "server/rpc/reads.h"
#include "server/rpc/renew.h"
#include "server/rpc/streamed_write_reactor.h"
#include "server/rpc/watch_session_reactor.h"
#include "session/status_macros.h"

#include <functional>

namespace holdfast {

template <typename Request, typename Response, typename ToCommand, typename UseCase>
SessionService::Reactor* SessionService::Command(const Unary<Request, Response>& unary,
                                                 ToCommand to_command, UseCase use_case) {
  return RunUnary(edge_, unary,
                  [this, to_command, use_case](Call& call, const Request& request,
                                               Response& response) -> absl::Status {
                    ASSIGN_OR_RETURN(const auto command, to_command(request));
                    // Not `.*`: GCC 12 with -fsanitize=undefined reads `this` before it is there.
                    ASSIGN_OR_RETURN(const auto result,
                                     std::invoke(use_case, sessions_, call.caller(), command));
                    WriteReply(result, response);
                    return absl::OkStatus();
                  });
}

template <typename Request, typename Response, typename Serve>
SessionService::Reactor* SessionService::Read(const Unary<Request, Response>& unary, Serve serve) {
  return RunUnary(edge_, unary,
                  [this, serve](Call& call, const Request& request, Response& response) {
                    return serve(sessions_, call, request, response);
                  });
}

SessionService::Reactor* SessionService::CreateSession(Context* context,
                                                       const pb::CreateSessionRequest* request,
                                                       pb::CreateSessionResponse* response) {
  return Command(Unary{"CreateSession", context, request, response}, ReadCreate, &Sessions::Create);
}

SessionService::Reactor* SessionService::GetSession(Context* context,
                                                    const pb::GetSessionRequest* request,
                                                    pb::GetSessionResponse* response) {
  return Read(Unary{"GetSession", context, request, response}, ServeGetSession);
}

SessionService::Reactor* SessionService::UpdateSession(Context* context,
                                                       const pb::UpdateSessionRequest* request,
                                                       pb::UpdateSessionResponse* response) {
  return Command(Unary{"UpdateSession", context, request, response}, ReadUpdate, &Sessions::Update);
}

SessionService::Reactor* SessionService::ListSessions(Context* context,
                                                      const pb::ListSessionsRequest* request,
                                                      pb::ListSessionsResponse* response) {
  return Read(Unary{"ListSessions", context, request, response}, ServeListSessions);
}

SessionService::Reactor* SessionService::ResumeSession(Context* context,
                                                       const pb::ResumeSessionRequest* request,
                                                       pb::ResumeSessionResponse* response) {
  return Command(Unary{"ResumeSession", context, request, response}, ReadResume, &Sessions::Resume);
}

grpc::ServerWriteReactor<pb::ReadSessionResponse>* SessionService::ReadSession(
    Context* context, const pb::ReadSessionRequest* request) {
  return StartReadSession(edge_, sessions_, context, *request);
}

SessionService::Reactor* SessionService::BeginTurn(Context* context,
                                                   const pb::BeginTurnRequest* request,
                                                   pb::BeginTurnResponse* response) {
  return Command(Unary{"BeginTurn", context, request, response}, ReadBeginTurn,
                 &Sessions::BeginTurn);
}

SessionService::Reactor* SessionService::AppendJournal(Context* context,
                                                       const pb::AppendJournalRequest* request,
                                                       pb::AppendJournalResponse* response) {
  return Command(Unary{"AppendJournal", context, request, response}, ReadAppendJournal,
                 &Sessions::AppendJournal);
}

grpc::ServerBidiReactor<pb::AppendJournalStreamRequest, pb::AppendJournalStreamResponse>*
SessionService::AppendJournalStream(Context* context) {
  return StartAppendJournalStream(edge_, sessions_, context);
}

grpc::ServerReadReactor<pb::CommitTurnStreamRequest>* SessionService::CommitTurnStream(
    Context* context, pb::CommitTurnStreamResponse* response) {
  return StartCommitTurnStream(edge_, sessions_, context, response);
}

SessionService::Reactor* SessionService::CommitTurn(Context* context,
                                                    const pb::CommitTurnRequest* request,
                                                    pb::CommitTurnResponse* response) {
  return Command(Unary{"CommitTurn", context, request, response}, ReadCommitTurn,
                 &Sessions::CommitTurn);
}

SessionService::Reactor* SessionService::AbandonTurn(Context* context,
                                                     const pb::AbandonTurnRequest* request,
                                                     pb::AbandonTurnResponse* response) {
  return Command(Unary{"AbandonTurn", context, request, response}, ReadAbandonTurn,
                 &Sessions::AbandonTurn);
}

SessionService::Reactor* SessionService::CancelSession(Context* context,
                                                       const pb::CancelSessionRequest* request,
                                                       pb::CancelSessionResponse* response) {
  return Command(Unary{"CancelSession", context, request, response}, ReadCancel, &Sessions::Cancel);
}

SessionService::Reactor* SessionService::CloseSession(Context* context,
                                                      const pb::CloseSessionRequest* request,
                                                      pb::CloseSessionResponse* response) {
  const Unary unary{"CloseSession", context, request, response};
  if (request->has_drain()) return StartDrainingClose(edge_, sessions_, waiters_, unary);
  return Command(unary, ReadClose, &Sessions::Close);
}

SessionService::Reactor* SessionService::DeleteSession(Context* context,
                                                       const pb::DeleteSessionRequest* request,
                                                       pb::DeleteSessionResponse* response) {
  return Command(Unary{"DeleteSession", context, request, response}, ReadDelete, &Sessions::Delete);
}

SessionService::Reactor* SessionService::RenewLeases(Context* context,
                                                     const pb::RenewLeasesRequest* request,
                                                     pb::RenewLeasesResponse* response) {
  return Read(Unary{"RenewLeases", context, request, response}, ServeRenewLeases);
}

SessionService::Reactor* SessionService::ReleaseLease(Context* context,
                                                      const pb::ReleaseLeaseRequest* request,
                                                      pb::ReleaseLeaseResponse* response) {
  return Command(Unary{"ReleaseLease", context, request, response}, ReadRelease,
                 &Sessions::Release);
}

SessionService::Reactor* SessionService::ReadMessages(Context* context,
                                                      const pb::ReadMessagesRequest* request,
                                                      pb::ReadMessagesResponse* response) {
  return Read(Unary{"ReadMessages", context, request, response}, ServeReadMessages);
}

SessionService::Reactor* SessionService::ReadSlots(Context* context,
                                                   const pb::ReadSlotsRequest* request,
                                                   pb::ReadSlotsResponse* response) {
  return Read(Unary{"ReadSlots", context, request, response}, ServeReadSlots);
}

SessionService::Reactor* SessionService::ReadJournal(Context* context,
                                                     const pb::ReadJournalRequest* request,
                                                     pb::ReadJournalResponse* response) {
  return Read(Unary{"ReadJournal", context, request, response}, ServeReadJournal);
}

SessionService::Reactor* SessionService::ListEvents(Context* context,
                                                    const pb::ListEventsRequest* request,
                                                    pb::ListEventsResponse* response) {
  return Read(Unary{"ListEvents", context, request, response}, ServeListEvents);
}

grpc::ServerWriteReactor<pb::WatchSessionResponse>* SessionService::WatchSession(
    Context* context, const pb::WatchSessionRequest* request) {
  return StartWatchSession(edge_, sessions_, watches_, context, *request);
}

SessionService::Reactor* SessionService::AppendAudit(Context* context,
                                                     const pb::AppendAuditRequest* request,
                                                     pb::AppendAuditResponse* response) {
  return Command(Unary{"AppendAudit", context, request, response}, ReadAppendAudit,
                 &Sessions::AppendAudit);
}

SessionService::Reactor* SessionService::ReadAudit(Context* context,
                                                   const pb::ReadAuditRequest* request,
                                                   pb::ReadAuditResponse* response) {
  return Read(Unary{"ReadAudit", context, request, response}, ServeReadAudit);
}

SessionService::Reactor* SessionService::VerifyAudit(Context* context,
                                                     const pb::VerifyAuditRequest* request,
                                                     pb::VerifyAuditResponse* response) {
  return Read(Unary{"VerifyAudit", context, request, response}, ServeVerifyAudit);
}

SessionService::Reactor* SessionService::GetRequestOutcome(
    Context* context, const pb::GetRequestOutcomeRequest* request,
    pb::GetRequestOutcomeResponse* response) {
  return Read(Unary{"GetRequestOutcome", context, request, response}, ServeGetRequestOutcome);
}

}  // namespace holdfast
