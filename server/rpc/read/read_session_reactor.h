// ReadSession's side of the transport: writes one piece at a time, and holds no worker while the
// client takes its time.
#ifndef HOLDFAST_SERVER_RPC_READ_READ_SESSION_REACTOR_H_
#define HOLDFAST_SERVER_RPC_READ_READ_SESSION_REACTOR_H_

#include "server/rpc/call/call.h"
#include "server/rpc/call/wire.h"
#include "session/sessions.h"

namespace holdfast {

// Each starts its stream. The reactor owns itself and is gone when the call is done; `edge` and
// `sessions` must outlive every call.
grpc::ServerWriteReactor<Bytes>* StartReadSession(Edge& edge, Sessions& sessions,
                                                  grpc::CallbackServerContext* context,
                                                  const Bytes& request);
// The session first, then the same.
grpc::ServerWriteReactor<Bytes>* StartRead(Edge& edge, Sessions& sessions,
                                           grpc::CallbackServerContext* context,
                                           const Bytes& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_READ_SESSION_REACTOR_H_
