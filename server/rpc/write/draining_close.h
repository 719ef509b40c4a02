// CloseSession: with `drain` it waits for the active turn's end and then closes.
#ifndef HOLDFAST_SERVER_RPC_WRITE_DRAINING_CLOSE_H_
#define HOLDFAST_SERVER_RPC_WRITE_DRAINING_CLOSE_H_

#include "server/rpc/call/unary.h"
#include "server/session_waiters.h"
#include "session/sessions.h"

#include <grpcpp/support/server_callback.h>

namespace holdfast {

// Finishes the call exactly once. All must outlive it.
grpc::ServerUnaryReactor* StartClose(Edge& edge, Sessions& sessions, SessionWaiters& waiters,
                                     const Unary& unary);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_DRAINING_CLOSE_H_
