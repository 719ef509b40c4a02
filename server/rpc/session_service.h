// holdfast.v1.SessionService: one line a method.
#ifndef HOLDFAST_SERVER_RPC_SESSION_SERVICE_H_
#define HOLDFAST_SERVER_RPC_SESSION_SERVICE_H_

#include "holdfast/v1/session_service.grpc.pb.h"
#include "server/rpc/unary.h"
#include "server/rpc/watch_hub.h"
#include "server/turn_waiters.h"
#include "session/sessions.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

class SessionService final : public pb::SessionService::CallbackService {
 public:
  // All must outlive this.
  SessionService(Edge& edge, Sessions& sessions, WatchHub& watches, TurnWaiters& waiters)
      : edge_(edge), sessions_(sessions), watches_(watches), waiters_(waiters) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* CreateSession(Context* context, const pb::CreateSessionRequest* request,
                         pb::CreateSessionResponse* response) override;
  Reactor* GetSession(Context* context, const pb::GetSessionRequest* request,
                      pb::GetSessionResponse* response) override;
  Reactor* UpdateSession(Context* context, const pb::UpdateSessionRequest* request,
                         pb::UpdateSessionResponse* response) override;
  Reactor* ListSessions(Context* context, const pb::ListSessionsRequest* request,
                        pb::ListSessionsResponse* response) override;
  Reactor* ResumeSession(Context* context, const pb::ResumeSessionRequest* request,
                         pb::ResumeSessionResponse* response) override;
  grpc::ServerWriteReactor<pb::ReadSessionResponse>* ReadSession(
      Context* context, const pb::ReadSessionRequest* request) override;
  Reactor* BeginTurn(Context* context, const pb::BeginTurnRequest* request,
                     pb::BeginTurnResponse* response) override;
  Reactor* AppendJournal(Context* context, const pb::AppendJournalRequest* request,
                         pb::AppendJournalResponse* response) override;
  grpc::ServerBidiReactor<pb::AppendJournalStreamRequest, pb::AppendJournalStreamResponse>*
  AppendJournalStream(Context* context) override;
  grpc::ServerReadReactor<pb::CommitTurnStreamRequest>* CommitTurnStream(
      Context* context, pb::CommitTurnStreamResponse* response) override;
  Reactor* CommitTurn(Context* context, const pb::CommitTurnRequest* request,
                      pb::CommitTurnResponse* response) override;
  Reactor* AbandonTurn(Context* context, const pb::AbandonTurnRequest* request,
                       pb::AbandonTurnResponse* response) override;
  Reactor* CancelSession(Context* context, const pb::CancelSessionRequest* request,
                         pb::CancelSessionResponse* response) override;
  Reactor* CloseSession(Context* context, const pb::CloseSessionRequest* request,
                        pb::CloseSessionResponse* response) override;
  Reactor* DeleteSession(Context* context, const pb::DeleteSessionRequest* request,
                         pb::DeleteSessionResponse* response) override;
  Reactor* RenewLeases(Context* context, const pb::RenewLeasesRequest* request,
                       pb::RenewLeasesResponse* response) override;
  Reactor* ReleaseLease(Context* context, const pb::ReleaseLeaseRequest* request,
                        pb::ReleaseLeaseResponse* response) override;
  Reactor* ReadMessages(Context* context, const pb::ReadMessagesRequest* request,
                        pb::ReadMessagesResponse* response) override;
  Reactor* ReadSlots(Context* context, const pb::ReadSlotsRequest* request,
                     pb::ReadSlotsResponse* response) override;
  Reactor* ReadJournal(Context* context, const pb::ReadJournalRequest* request,
                       pb::ReadJournalResponse* response) override;
  Reactor* ListEvents(Context* context, const pb::ListEventsRequest* request,
                      pb::ListEventsResponse* response) override;
  grpc::ServerWriteReactor<pb::WatchSessionResponse>* WatchSession(
      Context* context, const pb::WatchSessionRequest* request) override;
  Reactor* AppendAudit(Context* context, const pb::AppendAuditRequest* request,
                       pb::AppendAuditResponse* response) override;
  Reactor* ReadAudit(Context* context, const pb::ReadAuditRequest* request,
                     pb::ReadAuditResponse* response) override;
  Reactor* VerifyAudit(Context* context, const pb::VerifyAuditRequest* request,
                       pb::VerifyAuditResponse* response) override;
  Reactor* GetRequestOutcome(Context* context, const pb::GetRequestOutcomeRequest* request,
                             pb::GetRequestOutcomeResponse* response) override;

 private:
  // Request to command, use case, result to response.
  template <typename Request, typename Response, typename ToCommand, typename UseCase>
  Reactor* Command(const Unary<Request, Response>& unary, ToCommand to_command, UseCase use_case);
  // A read that fills its response itself.
  template <typename Request, typename Response, typename Serve>
  Reactor* Read(const Unary<Request, Response>& unary, Serve serve);

  Edge& edge_;
  Sessions& sessions_;
  WatchHub& watches_;
  TurnWaiters& waiters_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_SESSION_SERVICE_H_
