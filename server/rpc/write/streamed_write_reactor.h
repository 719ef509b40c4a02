// A streamed write's side of the transport: reads one piece at a time, and holds no worker while
// the client takes its time.
#ifndef HOLDFAST_SERVER_RPC_WRITE_STREAMED_WRITE_REACTOR_H_
#define HOLDFAST_SERVER_RPC_WRITE_STREAMED_WRITE_REACTOR_H_

#include "server/rpc/call/call.h"
#include "server/rpc/call/wire.h"
#include "session/sessions.h"

namespace holdfast {

// Each starts its stream. The reactor owns itself and is gone when the call is done; `edge` and
// `sessions` must outlive every call, and `response` the call itself.
grpc::ServerReadReactor<Bytes>* StartCommitTurnStream(Edge& edge, Sessions& sessions,
                                                      grpc::CallbackServerContext* context,
                                                      Bytes* response);
grpc::ServerReadReactor<Bytes>* StartWriteStream(Edge& edge, Sessions& sessions,
                                                 grpc::CallbackServerContext* context,
                                                 Bytes* response);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_STREAMED_WRITE_REACTOR_H_
