// RenewLeases: many leases in one call, each answer for itself.
#ifndef HOLDFAST_SERVER_RPC_WRITE_RENEW_H_
#define HOLDFAST_SERVER_RPC_WRITE_RENEW_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call/call.h"
#include "session/sessions.h"

#include "absl/status/status.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

// Renews what can be renewed. A lease whose own fields are not valid is refused for itself too, so
// that it never costs another one its life. TOO_LARGE when there are more than kLeasesPerRenewal.
absl::Status ServeRenewLeases(Sessions& sessions, Call& call, const pb::RenewLeasesRequest& request,
                              pb::RenewLeasesResponse& response);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WRITE_RENEW_H_
