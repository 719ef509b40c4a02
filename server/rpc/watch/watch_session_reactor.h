// WatchSession's side of the transport: one page, no queue, and no worker while it waits.
#ifndef HOLDFAST_SERVER_RPC_WATCH_WATCH_SESSION_REACTOR_H_
#define HOLDFAST_SERVER_RPC_WATCH_WATCH_SESSION_REACTOR_H_

#include "server/rpc/call/call.h"
#include "server/rpc/call/wire.h"
#include "server/rpc/watch/watch_hub.h"
#include "session/sessions.h"

#include <grpcpp/support/server_callback.h>

namespace holdfast {

// Starts the stream, through the funnel's checks; it ends itself. Everything named must outlive it.
grpc::ServerWriteReactor<Bytes>* StartWatchSession(Edge& edge, Sessions& sessions, WatchHub& hub,
                                                   grpc::CallbackServerContext* context,
                                                   const Bytes& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_WATCH_SESSION_REACTOR_H_
