// A streamed write's side of the transport: reads one piece at a time, and holds no worker while
// the client takes its time.
#ifndef HOLDFAST_SERVER_RPC_STREAMED_WRITE_REACTOR_H_
#define HOLDFAST_SERVER_RPC_STREAMED_WRITE_REACTOR_H_

#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"
#include "server/rpc/call.h"
#include "session/sessions.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

// Each starts its stream. The reactor owns itself and is gone when the call is done; `edge` and
// `sessions` must outlive every call, and `response` the call itself.
grpc::ServerReadReactor<pb::CommitTurnStreamRequest>* StartCommitTurnStream(
    Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
    pb::CommitTurnStreamResponse* response);
grpc::ServerReadReactor<pb::WriteStreamRequest>* StartWriteStream(
    Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
    pb::WriteStreamResponse* response);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STREAMED_WRITE_REACTOR_H_
