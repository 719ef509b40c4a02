// ReadSession's side of the transport: writes one piece at a time, and holds no worker while the
// client takes its time.
#ifndef HOLDFAST_SERVER_RPC_READ_SESSION_REACTOR_H_
#define HOLDFAST_SERVER_RPC_READ_SESSION_REACTOR_H_

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "server/rpc/call.h"
#include "session/sessions.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

// Each starts its stream. The reactor owns itself and is gone when the call is done; `edge` and
// `sessions` must outlive every call.
grpc::ServerWriteReactor<pb::ReadSessionResponse>* StartReadSession(
    Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
    const pb::ReadSessionRequest& request);
// The session first, then the same.
grpc::ServerWriteReactor<pb::ReadResponse>* StartRead(Edge& edge, Sessions& sessions,
                                                      grpc::CallbackServerContext* context,
                                                      const pb::ReadRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_SESSION_REACTOR_H_
