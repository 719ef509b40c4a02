// A unary call between its arrival and the moment when the transport is done with it.
#ifndef HOLDFAST_SERVER_RPC_UNARY_REACTOR_H_
#define HOLDFAST_SERVER_RPC_UNARY_REACTOR_H_

#include "server/rpc/call.h"

#include <grpcpp/support/server_callback.h>

#include <string>

namespace holdfast {

// Owns itself from Start until its answer has left or its client has gone.
class UnaryReactor final : public grpc::ServerUnaryReactor {
 public:
  // The caller finishes it exactly once and uses neither it nor its call afterwards. `edge` and
  // `context` must outlive it.
  static UnaryReactor* Start(Edge& edge, grpc::CallbackServerContext& context, CallInfo info);

  Call& call() { return call_; }

 private:
  UnaryReactor(Edge& edge, grpc::CallbackServerContext& context, CallInfo info);
  ~UnaryReactor() override = default;

  void OnDone() override;
  // OnDone returns soon: the transport's thread may run it itself.
  bool InternalInlineable() override { return true; }

  Call call_;
  ResetCounter* const resets_;    // may be unset
  const std::string connection_;  // as gRPC names it; a call that is done has none any more
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_UNARY_REACTOR_H_
