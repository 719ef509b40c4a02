#include "server/rpc/write/waiting_call.h"

#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "session/refusal.h"

namespace holdfast {

WaitingCall::WaitingCall(Edge& edge, SessionWaiters& waiters, const Unary& unary)
    : edge_(edge),
      waiters_(waiters),
      unary_(unary),
      call_(edge, *unary.context, InfoOf(unary)),
      arrived_(edge.clock.SinceBoot()) {}

void WaitingCall::Start(UnaryReactor& reactor) {
  const TransportThread here;
  reactor_ = &reactor;
  if (!reactor.Enter(call_)) return;
  if (edge_.pool.Submit([self = shared_from_this()] { self->Begin(); })) return;
  Finish(Overloaded("limits.queued_calls"));
}

void WaitingCall::Begin() {
  Patience patience;
  const absl::Status begun = call_.RunIfWanted([&]() -> absl::Status {
    ASSIGN_OR_RETURN(patience, Receive());
    return absl::OkStatus();
  });
  if (!begun.ok()) return Finish(begun);
  if (patience) call_.ProlongDefaultDeadline(*patience);
  patience_ends_ = arrived_ + patience.value_or(absl::ZeroDuration());
  Look(SessionWaiters::Woken::kLook);
}

void WaitingCall::Look(SessionWaiters::Woken woken) {
  Attempted attempted = Attempted::kEnded;
  const absl::Status looked = call_.Run([&]() -> absl::Status {
    ASSIGN_OR_RETURN(attempted, AttemptIfWanted(woken));
    return absl::OkStatus();
  });
  if (!looked.ok() || attempted == Attempted::kEnded) return Finish(looked);
  Wait();
}

absl::StatusOr<WaitingCall::Attempted> WaitingCall::AttemptIfWanted(SessionWaiters::Woken woken) {
  RETURN_IF_ERROR(call_.StillWanted());
  if (woken == SessionWaiters::Woken::kStopping) {
    return StoreUnavailable("this server is stopping", Fate::kNoEffect).ToStatus();
  }
  return Attempt(edge_.clock.SinceBoot() < patience_ends_);
}

// What it waits for may have come between the attempt and the waiting, so it looks once more.
void WaitingCall::Wait() {
  const auto self = shared_from_this();
  const SessionKey key{call_.caller().tenant, session()};
  waiters_.Add({.key = key,
                .over = [self] { return self->Over(); },
                .wake = [self](SessionWaiters::Woken woken) { self->Look(woken); }});
  bool must_wait = false;
  const absl::Status looked = call_.Run([&]() -> absl::Status {
    ASSIGN_OR_RETURN(must_wait, MustWait());
    return absl::OkStatus();
  });
  if (!looked.ok() || !must_wait) waiters_.Changed(key);
}

bool WaitingCall::Over() const {
  return !call_.StillWanted().ok() || edge_.clock.SinceBoot() >= patience_ends_;
}

void WaitingCall::Finish(const absl::Status& status) {
  if (!status.ok()) call_.HoldReply(0);
  reactor_->Answer(call_, status);
}

}  // namespace holdfast
