#include "server/rpc/write/draining_close.h"

#include "holdfast/v1/session_service.pb.h"
#include "platform/status_macros.h"
#include "server/rpc/convert/commands.h"
#include "server/rpc/convert/replies.h"
#include "server/rpc/write/waiting_call.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

class DrainingClose final : public WaitingCall {
 public:
  DrainingClose(Edge& edge, Sessions& sessions, SessionWaiters& waiters, const Unary& unary)
      : WaitingCall(edge, waiters, unary), sessions_(sessions) {}

 private:
  absl::StatusOr<Patience> Receive() override {
    Received<pb::CloseSessionRequest> request;
    RETURN_IF_ERROR(call().Receive(*unary().request, request));
    call().NameSession((*request).session_id());
    drains_ = (*request).has_drain();
    ASSIGN_OR_RETURN(command_, ReadClose(std::move(*request)));
    return drains_ ? Patience(command_.drain) : std::nullopt;
  }

  const SessionId& session() const override { return command_.session; }

  absl::StatusOr<Attempted> Attempt(bool may_wait) override {
    uint64_t drained_turns = 0;
    if (drains_) {
      ASSIGN_OR_RETURN(const Draining found, sessions_.Drain(call().caller(), command_));
      if (!committed_before_) committed_before_ = found.committed;
      if (found.active && may_wait) return Attempted::kMustWait;
      drained_turns = found.committed - *committed_before_;
    }
    CloseCommand command = command_;
    command.drained_turns = drained_turns;
    ASSIGN_OR_RETURN(const MutationResult result, sessions_.Close(call().caller(), command));
    pb::CloseSessionResponse response;
    WriteReply(result, response);
    SetReply(unary(), call(), response);
    return Attempted::kEnded;
  }

  absl::StatusOr<bool> MustWait() override {
    ASSIGN_OR_RETURN(const Draining found, sessions_.Drain(call().caller(), command_));
    return found.active;
  }

  Sessions& sessions_;
  bool drains_ = false;
  CloseCommand command_;
  std::optional<uint64_t> committed_before_;
};

}  // namespace

grpc::ServerUnaryReactor* StartClose(Edge& edge, Sessions& sessions, SessionWaiters& waiters,
                                     const Unary& unary) {
  return StartWaitingCall(edge, unary,
                          std::make_shared<DrainingClose>(edge, sessions, waiters, unary));
}

}  // namespace holdfast
