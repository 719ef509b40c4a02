// holdfast.v1.SessionService: one line a method.
#ifndef HOLDFAST_SERVER_RPC_SESSION_SERVICE_H_
#define HOLDFAST_SERVER_RPC_SESSION_SERVICE_H_

#include "holdfast/v1/session_service.grpc.pb.h"
#include "server/rpc/call/raw_methods.h"
#include "server/rpc/call/unary.h"
#include "server/rpc/watch/watch_hub.h"
#include "server/session_waiters.h"
#include "session/sessions.h"

#include "absl/status/statusor.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

// Every method gets bytes: they are parsed once the call is admitted.
using RawSessionService =
    RawMethods<pb::SessionService::Service, pb::SessionService::WithRawCallbackMethod_CreateSession,
               pb::SessionService::WithRawCallbackMethod_GetSession,
               pb::SessionService::WithRawCallbackMethod_BatchGetSessions,
               pb::SessionService::WithRawCallbackMethod_LookupLatestSession,
               pb::SessionService::WithRawCallbackMethod_UpdateSession,
               pb::SessionService::WithRawCallbackMethod_ListSessions,
               pb::SessionService::WithRawCallbackMethod_ResumeSession,
               pb::SessionService::WithRawCallbackMethod_ReadSession,
               pb::SessionService::WithRawCallbackMethod_BeginTurn,
               pb::SessionService::WithRawCallbackMethod_AppendJournal,
               pb::SessionService::WithRawCallbackMethod_AppendJournalStream,
               pb::SessionService::WithRawCallbackMethod_CommitTurnStream,
               pb::SessionService::WithRawCallbackMethod_CommitTurn,
               pb::SessionService::WithRawCallbackMethod_AbandonTurn,
               pb::SessionService::WithRawCallbackMethod_RestoreSession,
               pb::SessionService::WithRawCallbackMethod_PutCheckpoint,
               pb::SessionService::WithRawCallbackMethod_ListCheckpoints,
               pb::SessionService::WithRawCallbackMethod_DeleteCheckpoint,
               pb::SessionService::WithRawCallbackMethod_CancelSession,
               pb::SessionService::WithRawCallbackMethod_CloseSession,
               pb::SessionService::WithRawCallbackMethod_DeleteSession,
               pb::SessionService::WithRawCallbackMethod_RenewLeases,
               pb::SessionService::WithRawCallbackMethod_ReleaseLease,
               pb::SessionService::WithRawCallbackMethod_ListMessages,
               pb::SessionService::WithRawCallbackMethod_ListSlots,
               pb::SessionService::WithRawCallbackMethod_ListJournalEntries,
               pb::SessionService::WithRawCallbackMethod_ListEvents,
               pb::SessionService::WithRawCallbackMethod_WatchSession,
               pb::SessionService::WithRawCallbackMethod_AppendAudit,
               pb::SessionService::WithRawCallbackMethod_ListAuditRecords,
               pb::SessionService::WithRawCallbackMethod_VerifyAudit,
               pb::SessionService::WithRawCallbackMethod_GetRequestOutcome>;

class SessionService final : public RawSessionService {
 public:
  // All must outlive this.
  SessionService(Edge& edge, Sessions& sessions, WatchHub& watches, SessionWaiters& waiters)
      : edge_(edge), sessions_(sessions), watches_(watches), waiters_(waiters) {}

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* CreateSession(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* GetSession(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* BatchGetSessions(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* LookupLatestSession(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* UpdateSession(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListSessions(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ResumeSession(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerWriteReactor<Bytes>* ReadSession(Context* context, const Bytes* request) override;
  Reactor* BeginTurn(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* AppendJournal(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerBidiReactor<Bytes, Bytes>* AppendJournalStream(Context* context) override;
  grpc::ServerReadReactor<Bytes>* CommitTurnStream(Context* context, Bytes* response) override;
  Reactor* CommitTurn(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* AbandonTurn(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* RestoreSession(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* PutCheckpoint(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListCheckpoints(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* DeleteCheckpoint(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* CancelSession(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* CloseSession(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* DeleteSession(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* RenewLeases(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ReleaseLease(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListMessages(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListSlots(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListJournalEntries(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListEvents(Context* context, const Bytes* request, Bytes* response) override;
  grpc::ServerWriteReactor<Bytes>* WatchSession(Context* context, const Bytes* request) override;
  Reactor* AppendAudit(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListAuditRecords(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* VerifyAudit(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* GetRequestOutcome(Context* context, const Bytes* request, Bytes* response) override;

 private:
  // As RunCommand.
  template <typename Response, typename Request, typename Asked, typename UseCase>
  Reactor* Command(const Unary& unary, absl::StatusOr<Asked> (*to_command)(Request&&),
                   UseCase use_case);
  // As RunBatched.
  template <typename Response, typename Request, typename Asked, typename UseCase>
  Reactor* Batched(const Unary& unary, absl::StatusOr<Asked> (*to_command)(Request&&),
                   UseCase use_case);
  // A read that fills its response itself.
  template <typename Request, typename Response>
  Reactor* Read(const Unary& unary,
                absl::Status (*serve)(Sessions&, Call&, const Request&, Response&));

  Edge& edge_;
  Sessions& sessions_;
  WatchHub& watches_;
  SessionWaiters& waiters_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_SESSION_SERVICE_H_
