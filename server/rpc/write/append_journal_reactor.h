// AppendJournalStream's side of the transport: reads ahead while a batch is being appended, and
// holds no worker while nothing waits.
#ifndef HOLDFAST_SERVER_RPC_WRITE_APPEND_JOURNAL_REACTOR_H_
#define HOLDFAST_SERVER_RPC_WRITE_APPEND_JOURNAL_REACTOR_H_

#include "server/rpc/call/call.h"
#include "server/rpc/call/wire.h"
#include "session/sessions.h"

namespace holdfast {

// Starts the stream. The reactor owns itself and is gone when the call is done; `edge` and
// `sessions` must outlive every call.
grpc::ServerBidiReactor<Bytes, Bytes>* StartAppendJournalStream(
    Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_APPEND_JOURNAL_REACTOR_H_
