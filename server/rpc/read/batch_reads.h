// Reads of several sessions in one call.
#ifndef HOLDFAST_SERVER_RPC_READ_BATCH_READS_H_
#define HOLDFAST_SERVER_RPC_READ_BATCH_READS_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call/call.h"
#include "session/sessions.h"

#include "absl/status/status.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

// Fills the response of the call of its name: a session that cannot be read is a result that says
// so. TOO_LARGE for more reads than one call may have.
absl::Status ServeBatchGetSessions(Sessions& sessions, Call& call,
                                   const pb::BatchGetSessionsRequest& request,
                                   pb::BatchGetSessionsResponse& response);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_BATCH_READS_H_
