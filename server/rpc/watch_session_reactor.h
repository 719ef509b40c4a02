// WatchSession's side of the transport: one page, no queue, and no worker while it waits.
#ifndef HOLDFAST_SERVER_RPC_WATCH_SESSION_REACTOR_H_
#define HOLDFAST_SERVER_RPC_WATCH_SESSION_REACTOR_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call.h"
#include "server/rpc/watch_hub.h"
#include "session/sessions.h"

#include <grpcpp/support/server_callback.h>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Starts the stream, through the funnel's checks; it ends itself. Everything named must outlive it.
grpc::ServerWriteReactor<pb::WatchSessionResponse>* StartWatchSession(
    Edge& edge, Sessions& sessions, WatchHub& hub, grpc::CallbackServerContext* context,
    const pb::WatchSessionRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_SESSION_REACTOR_H_
