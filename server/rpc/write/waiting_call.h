// A unary call that may wait for a change of its session, and holds no worker meanwhile.
#ifndef HOLDFAST_SERVER_RPC_WRITE_WAITING_CALL_H_
#define HOLDFAST_SERVER_RPC_WRITE_WAITING_CALL_H_

#include "server/rpc/call/unary.h"
#include "server/rpc/call/unary_reactor.h"
#include "server/session_waiters.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <utility>

namespace holdfast {

// Its next step keeps it alive: a task of the pool or a waiter. While it waits a deadline, a cancel
// and the server's stop end it without effect: DEADLINE, CANCELLED, STORE_UNAVAILABLE, each with
// outcome known.
class WaitingCall : public std::enable_shared_from_this<WaitingCall> {
 public:
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;
  virtual ~WaitingCall() = default;

  // Called once. `reactor` keeps this alive until its reply has left.
  void Start(UnaryReactor& reactor);

 protected:
  WaitingCall(Edge& edge, SessionWaiters& waiters, const Unary& unary);

  // How long a call may wait at most; nothing: it does not wait.
  using Patience = std::optional<absl::Duration>;
  // Whether an attempt has ended the call.
  enum class Attempted : uint8_t { kEnded, kMustWait };

  // Reads the request: once, before anything else.
  virtual absl::StatusOr<Patience> Receive() = 0;
  // The session that it is about. Fixed by Receive: two threads may ask.
  [[nodiscard]] virtual const SessionId& session() const = 0;
  // Does what was asked and sets the reply, or says that it must wait first, which is possible only
  // where it `may_wait`.
  virtual absl::StatusOr<Attempted> Attempt(bool may_wait) = 0;
  // Whether an attempt would say now that it must wait.
  virtual absl::StatusOr<bool> MustWait() = 0;

  [[nodiscard]] Call& call() { return call_; }
  [[nodiscard]] const Unary& unary() const { return unary_; }

 private:
  void Begin();
  void Look(SessionWaiters::Woken woken);
  absl::StatusOr<Attempted> AttemptIfWanted(SessionWaiters::Woken woken);
  void Wait();
  [[nodiscard]] bool Over() const;
  void Finish(const absl::Status& status);

  Edge& edge_;
  SessionWaiters& waiters_;
  const Unary unary_;
  UnaryReactor* reactor_ = nullptr;
  Call call_;
  const absl::Duration arrived_;  // since boot
  absl::Duration patience_ends_;  // since boot; fixed from Begin on
};

// The transport's side of one.
class WaitingCallReactor final : public UnaryReactor {
 public:
  WaitingCallReactor(Edge& edge, const Unary& unary, std::shared_ptr<WaitingCall> call)
      : UnaryReactor(edge, *unary.context), call_(std::move(call)) {}

 private:
  const std::shared_ptr<WaitingCall> call_;
};

// Starts `call`, which finishes exactly once.
inline grpc::ServerUnaryReactor* StartWaitingCall(Edge& edge, const Unary& unary,
                                                  const std::shared_ptr<WaitingCall>& call) {
  auto* const reactor = MakeReactor<WaitingCallReactor>(edge, unary, call);
  call->Start(*reactor);
  return reactor;
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_WAITING_CALL_H_
