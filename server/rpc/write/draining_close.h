// CloseSession: with `drain` it waits for the active turn's end, holding no worker, and then
// closes.
#ifndef HOLDFAST_SERVER_RPC_WRITE_DRAINING_CLOSE_H_
#define HOLDFAST_SERVER_RPC_WRITE_DRAINING_CLOSE_H_

#include "server/rpc/call/unary.h"
#include "server/turn_waiters.h"
#include "session/sessions.h"

#include <grpcpp/support/server_callback.h>

namespace holdfast {

// Finishes the call exactly once. While it waits a deadline, a cancel and the server's stop end it
// without effect: DEADLINE, CANCELLED, STORE_UNAVAILABLE, each with outcome known.
grpc::ServerUnaryReactor* StartClose(Edge& edge, Sessions& sessions, TurnWaiters& waiters,
                                     const Unary& unary);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_DRAINING_CLOSE_H_
