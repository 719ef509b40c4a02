#include "server/rpc/session_service.h"

#include "server/rpc/call/batched_call.h"
#include "server/rpc/call/unary_command.h"
#include "server/rpc/convert/commands.h"
#include "server/rpc/convert/replies.h"
#include "server/rpc/read/batch_reads.h"
#include "server/rpc/read/item_lists.h"
#include "server/rpc/read/read_session_reactor.h"
#include "server/rpc/read/reads.h"
#include "server/rpc/watch/watch_session_reactor.h"
#include "server/rpc/write/append_journal_reactor.h"
#include "server/rpc/write/draining_close.h"
#include "server/rpc/write/renew.h"
#include "server/rpc/write/streamed_write_reactor.h"
#include "server/rpc/write/waiting_resume.h"

namespace holdfast {

template <typename Response, typename Request, typename Asked, typename UseCase>
SessionService::Reactor* SessionService::Command(const Unary& unary,
                                                 absl::StatusOr<Asked> (*to_command)(Request&&),
                                                 UseCase use_case) {
  return RunCommand<Response>(edge_, sessions_, unary, to_command, use_case);
}

template <typename Response, typename Request, typename Asked, typename UseCase>
SessionService::Reactor* SessionService::Batched(const Unary& unary,
                                                 absl::StatusOr<Asked> (*to_command)(Request&&),
                                                 UseCase use_case) {
  return RunBatched<Response>(edge_, sessions_, unary, to_command, use_case);
}

template <typename Request, typename Response>
SessionService::Reactor* SessionService::Read(const Unary& unary,
                                              absl::Status (*serve)(Sessions&, Call&,
                                                                    const Request&, Response&)) {
  return RunUnary<Request, Response>(
      edge_, unary, [this, serve](Call& call, const Request& request, Response& response) {
        return serve(sessions_, call, request, response);
      });
}

SessionService::Reactor* SessionService::CreateSession(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return Command<pb::CreateSessionResponse>({"CreateSession", context, request, response},
                                            ReadCreate, &Sessions::Create);
}

SessionService::Reactor* SessionService::GetSession(Context* context, const Bytes* request,
                                                    Bytes* response) {
  return Read({"GetSession", context, request, response}, ServeGetSession);
}

SessionService::Reactor* SessionService::BatchGetSessions(Context* context, const Bytes* request,
                                                          Bytes* response) {
  return Read({"BatchGetSessions", context, request, response}, ServeBatchGetSessions);
}

SessionService::Reactor* SessionService::LookupLatestSession(Context* context, const Bytes* request,
                                                             Bytes* response) {
  return Read({"LookupLatestSession", context, request, response}, ServeLookupLatestSession);
}

SessionService::Reactor* SessionService::UpdateSession(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return Command<pb::UpdateSessionResponse>({"UpdateSession", context, request, response},
                                            ReadUpdate, &Sessions::Update);
}

SessionService::Reactor* SessionService::ListSessions(Context* context, const Bytes* request,
                                                      Bytes* response) {
  return Read({"ListSessions", context, request, response}, ServeListSessions);
}

SessionService::Reactor* SessionService::ResumeSession(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return StartResume(edge_, sessions_, waiters_, {"ResumeSession", context, request, response});
}

grpc::ServerWriteReactor<Bytes>* SessionService::ReadSession(Context* context,
                                                             const Bytes* request) {
  return StartReadSession(edge_, sessions_, context, *request);
}

SessionService::Reactor* SessionService::BeginTurn(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return Batched<pb::BeginTurnResponse>({"BeginTurn", context, request, response}, ReadBeginTurn,
                                        &Sessions::BeginTurn);
}

SessionService::Reactor* SessionService::AppendJournal(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return Batched<pb::AppendJournalResponse>({"AppendJournal", context, request, response},
                                            ReadAppendJournal, &Sessions::AppendJournal);
}

grpc::ServerBidiReactor<Bytes, Bytes>* SessionService::AppendJournalStream(Context* context) {
  return StartAppendJournalStream(edge_, sessions_, context);
}

grpc::ServerReadReactor<Bytes>* SessionService::CommitTurnStream(Context* context,
                                                                 Bytes* response) {
  return StartCommitTurnStream(edge_, sessions_, context, response);
}

SessionService::Reactor* SessionService::CommitTurn(Context* context, const Bytes* request,
                                                    Bytes* response) {
  return Batched<pb::CommitTurnResponse>({"CommitTurn", context, request, response}, ReadCommitTurn,
                                         &Sessions::CommitTurn);
}

SessionService::Reactor* SessionService::AbandonTurn(Context* context, const Bytes* request,
                                                     Bytes* response) {
  return Batched<pb::AbandonTurnResponse>({"AbandonTurn", context, request, response},
                                          ReadAbandonTurn, &Sessions::AbandonTurn);
}

SessionService::Reactor* SessionService::RestoreSession(Context* context, const Bytes* request,
                                                        Bytes* response) {
  return Command<pb::RestoreSessionResponse>({"RestoreSession", context, request, response},
                                             ReadRestore, &Sessions::Restore);
}

SessionService::Reactor* SessionService::PutCheckpoint(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return Command<pb::PutCheckpointResponse>({"PutCheckpoint", context, request, response},
                                            ReadPutCheckpoint, &Sessions::PutCheckpoint);
}

SessionService::Reactor* SessionService::ListCheckpoints(Context* context, const Bytes* request,
                                                         Bytes* response) {
  return Read({"ListCheckpoints", context, request, response}, ServeListCheckpoints);
}

SessionService::Reactor* SessionService::DeleteCheckpoint(Context* context, const Bytes* request,
                                                          Bytes* response) {
  return Command<pb::DeleteCheckpointResponse>({"DeleteCheckpoint", context, request, response},
                                               ReadDeleteCheckpoint, &Sessions::DeleteCheckpoint);
}

SessionService::Reactor* SessionService::CancelSession(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return Command<pb::CancelSessionResponse>({"CancelSession", context, request, response},
                                            ReadCancel, &Sessions::Cancel);
}

SessionService::Reactor* SessionService::CloseSession(Context* context, const Bytes* request,
                                                      Bytes* response) {
  return StartClose(edge_, sessions_, waiters_, {"CloseSession", context, request, response});
}

SessionService::Reactor* SessionService::DeleteSession(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return Command<pb::DeleteSessionResponse>({"DeleteSession", context, request, response},
                                            ReadDelete, &Sessions::Delete);
}

SessionService::Reactor* SessionService::RenewLeases(Context* context, const Bytes* request,
                                                     Bytes* response) {
  return Read({"RenewLeases", context, request, response}, ServeRenewLeases);
}

SessionService::Reactor* SessionService::ReleaseLease(Context* context, const Bytes* request,
                                                      Bytes* response) {
  return Command<pb::ReleaseLeaseResponse>({"ReleaseLease", context, request, response},
                                           ReadRelease, &Sessions::Release);
}

SessionService::Reactor* SessionService::ListMessages(Context* context, const Bytes* request,
                                                      Bytes* response) {
  return Read({"ListMessages", context, request, response}, ServeListMessages);
}

SessionService::Reactor* SessionService::ListSlots(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return Read({"ListSlots", context, request, response}, ServeListSlots);
}

SessionService::Reactor* SessionService::ListJournalEntries(Context* context, const Bytes* request,
                                                            Bytes* response) {
  return Read({"ListJournalEntries", context, request, response}, ServeListJournalEntries);
}

SessionService::Reactor* SessionService::ListEvents(Context* context, const Bytes* request,
                                                    Bytes* response) {
  return Read({"ListEvents", context, request, response}, ServeListEvents);
}

grpc::ServerWriteReactor<Bytes>* SessionService::WatchSession(Context* context,
                                                              const Bytes* request) {
  return StartWatchSession(edge_, sessions_, watches_, context, *request);
}

SessionService::Reactor* SessionService::AppendAudit(Context* context, const Bytes* request,
                                                     Bytes* response) {
  return Command<pb::AppendAuditResponse>({"AppendAudit", context, request, response},
                                          ReadAppendAudit, &Sessions::AppendAudit);
}

SessionService::Reactor* SessionService::ListAuditRecords(Context* context, const Bytes* request,
                                                          Bytes* response) {
  return Read({"ListAuditRecords", context, request, response}, ServeListAuditRecords);
}

SessionService::Reactor* SessionService::VerifyAudit(Context* context, const Bytes* request,
                                                     Bytes* response) {
  return Read({"VerifyAudit", context, request, response}, ServeVerifyAudit);
}

SessionService::Reactor* SessionService::GetRequestOutcome(Context* context, const Bytes* request,
                                                           Bytes* response) {
  return Read({"GetRequestOutcome", context, request, response}, ServeGetRequestOutcome);
}

}  // namespace holdfast
