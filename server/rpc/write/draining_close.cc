#include "server/rpc/write/draining_close.h"

#include "holdfast/v1/session_service.pb.h"
#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "server/rpc/call/unary_reactor.h"
#include "server/rpc/convert/commands.h"
#include "server/rpc/convert/replies.h"
#include "session/refusal.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <memory>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

// One such call. Its next step keeps it alive: a task of the pool or a waiter.
class DrainingClose final : public std::enable_shared_from_this<DrainingClose> {
 public:
  DrainingClose(Edge& edge, Sessions& sessions, TurnWaiters& waiters, const Unary& unary)
      : edge_(edge),
        sessions_(sessions),
        waiters_(waiters),
        unary_(unary),
        call_(edge, *unary.context, InfoOf(unary)),
        arrived_(edge.clock.SinceBoot()) {}

  // `reactor` keeps this alive until its reply has left.
  void Start(UnaryReactor& reactor) {
    const TransportThread here;
    reactor_ = &reactor;
    if (!reactor.Enter(call_)) return;
    if (edge_.pool.Submit([self = shared_from_this()] { self->Begin(); })) return;
    Finish(Overloaded("limits.queued_calls"));
  }

 private:
  void Begin() {
    bool drains = false;
    const absl::Status begun = call_.RunIfWanted([&]() -> absl::Status {
      ASSIGN_OR_RETURN(drains, Receive());
      return drains ? absl::OkStatus() : Close(0);
    });
    if (!begun.ok() || !drains) return Finish(begun);
    call_.ProlongDefaultDeadline(command_.drain);
    patience_ends_ = arrived_ + command_.drain;
    Look(TurnWaiters::Woken::kLook);
  }

  // Answers whether the active turn is waited for.
  absl::StatusOr<bool> Receive() {
    Received<pb::CloseSessionRequest> request;
    RETURN_IF_ERROR(call_.Receive(*unary_.request, request));
    call_.NameSession((*request).session_id());
    const bool drains = (*request).has_drain();
    ASSIGN_OR_RETURN(command_, ReadClose(std::move(*request)));
    return drains;
  }

  void Look(TurnWaiters::Woken woken) {
    bool waits = false;
    const absl::Status looked = call_.Run([&] { return CloseUnlessDraining(woken, waits); });
    if (!looked.ok() || !waits) return Finish(looked);
    Wait();
  }

  // Closes the session, or sets `waits`.
  absl::Status CloseUnlessDraining(TurnWaiters::Woken woken, bool& waits) {
    RETURN_IF_ERROR(call_.StillWanted());
    if (woken == TurnWaiters::Woken::kStopping) {
      return StoreUnavailable("this server is stopping", Fate::kNoEffect);
    }
    ASSIGN_OR_RETURN(const Draining found, sessions_.Drain(call_.caller(), command_));
    if (!committed_before_) committed_before_ = found.committed;
    waits = found.active && edge_.clock.SinceBoot() < patience_ends_;
    return waits ? absl::OkStatus() : Close(found.committed - *committed_before_);
  }

  // The turn may have ended between the look and the waiting, so it is looked at once more.
  void Wait() {
    const auto self = shared_from_this();
    const SessionKey key{call_.caller().tenant, command_.session};
    waiters_.Add({.key = key,
                  .over = [self] { return self->Over(); },
                  .wake = [self](TurnWaiters::Woken woken) { self->Look(woken); }});
    bool active = false;
    const absl::Status looked = call_.Run([&]() -> absl::Status {
      ASSIGN_OR_RETURN(const Draining found, sessions_.Drain(call_.caller(), command_));
      active = found.active;
      return absl::OkStatus();
    });
    if (!looked.ok() || !active) waiters_.TurnEnded(key);
  }

  bool Over() const {
    return !call_.StillWanted().ok() || edge_.clock.SinceBoot() >= patience_ends_;
  }

  absl::Status Close(uint64_t drained_turns) {
    CloseCommand command = command_;
    command.drained_turns = drained_turns;
    ASSIGN_OR_RETURN(const MutationResult result, sessions_.Close(call_.caller(), command));
    pb::CloseSessionResponse response;
    WriteReply(result, response);
    *unary_.response = ToBytes(response);
    call_.HoldReply(unary_.response->Length());
    return absl::OkStatus();
  }

  void Finish(const absl::Status& status) {
    if (!status.ok()) call_.HoldReply(0);
    reactor_->Answer(call_, status);
  }

  Edge& edge_;
  Sessions& sessions_;
  TurnWaiters& waiters_;
  const Unary unary_;
  UnaryReactor* reactor_ = nullptr;
  Call call_;
  const absl::Duration arrived_;  // since boot
  CloseCommand command_;          // fixed from Begin on: two threads may read it
  absl::Duration patience_ends_;  // since boot
  std::optional<uint64_t> committed_before_;
};

class DrainingCloseReactor final : public UnaryReactor {
 public:
  DrainingCloseReactor(Edge& edge, const Unary& unary, std::shared_ptr<DrainingClose> close)
      : UnaryReactor(edge, *unary.context), close_(std::move(close)) {}

 private:
  const std::shared_ptr<DrainingClose> close_;
};

}  // namespace

grpc::ServerUnaryReactor* StartClose(Edge& edge, Sessions& sessions, TurnWaiters& waiters,
                                     const Unary& unary) {
  auto close = std::make_shared<DrainingClose>(edge, sessions, waiters, unary);
  auto* const reactor = MakeReactor<DrainingCloseReactor>(edge, unary, close);
  close->Start(*reactor);
  return reactor;
}

}  // namespace holdfast
