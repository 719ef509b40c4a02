// ReadItems on the transport.
#ifndef HOLDFAST_SERVER_RPC_READ_READ_ITEMS_REACTOR_H_
#define HOLDFAST_SERVER_RPC_READ_READ_ITEMS_REACTOR_H_

#include "server/rpc/call/call.h"
#include "server/rpc/call/wire.h"
#include "session/sessions.h"

namespace holdfast {

// As StartReadSession.
grpc::ServerWriteReactor<Bytes>* StartReadItems(Edge& edge, Sessions& sessions,
                                                grpc::CallbackServerContext* context,
                                                const Bytes& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_READ_ITEMS_REACTOR_H_
