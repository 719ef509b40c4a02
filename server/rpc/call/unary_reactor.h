// The transport's side of a unary call, between its arrival and the moment when the transport is
// done with its reply.
#ifndef HOLDFAST_SERVER_RPC_CALL_UNARY_REACTOR_H_
#define HOLDFAST_SERVER_RPC_CALL_UNARY_REACTOR_H_

#include "server/rpc/call/call.h"

#include <grpcpp/support/server_callback.h>

#include <string>
#include <utility>

namespace holdfast {

// Owns itself until its reply has left or its client has gone. A subclass keeps what the call needs
// until then, for example its Call, which holds the memory of the reply.
class UnaryReactor : public grpc::ServerUnaryReactor {
 public:
  // `edge` and `context` must outlive it.
  UnaryReactor(Edge& edge, grpc::CallbackServerContext& context);

  // Lets `call` in. False when it was refused, or given up already: then it was answered, and this
  // and the call must not be used any more.
  bool Enter(Call& call);
  // Ends `call` with `status` and hands the reply to the transport. Called once; this and the call
  // must not be used afterwards.
  void Answer(Call& call, const absl::Status& status);
  // The same for one that has no Call.
  void Answer(const grpc::Status& status);

 protected:
  ~UnaryReactor() override = default;

 private:
  void OnDone() final;
  // OnDone returns soon: the transport's thread may run it itself.
  bool InternalInlineable() final { return true; }

  Edge& edge_;
  grpc_call* const transport_call_;
  const std::string connection_;  // as gRPC names it; a call that is done has none any more
};

// Makes a subclass of UnaryReactor, which owns itself from then on.
template <typename Reactor, typename... Arguments>
Reactor* MakeReactor(Arguments&&... arguments) {
  return new Reactor(std::forward<Arguments>(arguments)...);
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_UNARY_REACTOR_H_
