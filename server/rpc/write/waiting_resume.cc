#include "server/rpc/write/waiting_resume.h"

#include "holdfast/v1/session_service.pb.h"
#include "platform/status_macros.h"
#include "server/rpc/convert/commands.h"
#include "server/rpc/convert/replies.h"
#include "server/rpc/write/waiting_call.h"
#include "session/refusal.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <memory>
#include <utility>

namespace holdfast {
namespace {

class WaitingResume final : public WaitingCall {
 public:
  WaitingResume(Edge& edge, Sessions& sessions, SessionWaiters& waiters, const Unary& unary)
      : WaitingCall(edge, waiters, unary), sessions_(sessions) {}

 private:
  absl::StatusOr<Patience> Receive() override {
    Received<pb::ResumeSessionRequest> request;
    RETURN_IF_ERROR(call().Receive(*unary().request, request));
    call().NameSession((*request).session_id());
    ASSIGN_OR_RETURN(command_, ReadResume(std::move(*request)));
    const bool waits = command_.wait > absl::ZeroDuration();
    return waits ? Patience(command_.wait) : std::nullopt;
  }

  const SessionId& session() const override { return command_.session; }

  // A repeat is answered by the first attempt: it never waits for the lease that it was granted.
  absl::StatusOr<Attempted> Attempt(bool may_wait) override {
    const absl::StatusOr<ResumeResult> result = sessions_.Resume(call().caller(), command_);
    if (may_wait && Is(result.status(), Reason::kLeaseHeld)) return Attempted::kMustWait;
    RETURN_IF_ERROR(result.status());
    pb::ResumeSessionResponse response;
    WriteReply(*result, response);
    SetReply(unary(), call(), response);
    return Attempted::kEnded;
  }

  absl::StatusOr<bool> MustWait() override {
    ASSIGN_OR_RETURN(const Head head, sessions_.Get(call().caller(), command_.session));
    return head.lease.held && head.lease.state == LeaseState::kLive;
  }

  Sessions& sessions_;
  ResumeCommand command_;
};

}  // namespace

grpc::ServerUnaryReactor* StartResume(Edge& edge, Sessions& sessions, SessionWaiters& waiters,
                                      const Unary& unary) {
  return StartWaitingCall(edge, unary,
                          std::make_shared<WaitingResume>(edge, sessions, waiters, unary));
}

}  // namespace holdfast
