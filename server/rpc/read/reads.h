// The reading calls: request in, response out, straight from the store where no decision is needed.
#ifndef HOLDFAST_SERVER_RPC_READ_READS_H_
#define HOLDFAST_SERVER_RPC_READ_READS_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call/call.h"
#include "session/sessions.h"

#include "absl/status/status.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

// Each fills the response of the call of its name, or answers that call's refusal.
absl::Status ServeGetSession(Sessions& sessions, Call& call, const pb::GetSessionRequest& request,
                             pb::GetSessionResponse& response);
absl::Status ServeLookupLatestSession(Sessions& sessions, Call& call,
                                      const pb::LookupLatestSessionRequest& request,
                                      pb::LookupLatestSessionResponse& response);
absl::Status ServeListSessions(Sessions& sessions, Call& call,
                               const pb::ListSessionsRequest& request,
                               pb::ListSessionsResponse& response);
absl::Status ServeVerifyAudit(Sessions& sessions, Call& call, const pb::VerifyAuditRequest& request,
                              pb::VerifyAuditResponse& response);
absl::Status ServeGetRequestOutcome(Sessions& sessions, Call& call,
                                    const pb::GetRequestOutcomeRequest& request,
                                    pb::GetRequestOutcomeResponse& response);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_READS_H_
