#include "server/rpc/write/renew.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/session.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

absl::StatusOr<RenewRequest> ReadRenewal(const Caller& caller, int index,
                                         const pb::LeaseRenewal& lease) {
  const std::string path = "leases[" + std::to_string(index) + "].";
  ASSIGN_OR_RETURN(SessionId session, ReadId<SessionId>(path + "session_id", lease.session_id()));
  ASSIGN_OR_RETURN(std::optional<LeaseToken> token,
                   ReadToken(path + "lease_token", lease.lease_token()));
  if (!token) {
    return Refusal(Reason::kLeaseRequired, "this call needs the lease: resume the session first");
  }
  RenewRequest renewal{.key = {.tenant = caller.tenant, .session = std::move(session)},
                       .token = *std::move(token)};
  if (!lease.has_lease_ttl()) return renewal;
  ASSIGN_OR_RETURN(renewal.ttl,
                   ReadDuration(path + "lease_ttl", true, lease.lease_ttl(), kLeaseTtlDefault));
  if (*renewal.ttl < kLeaseTtlLeast || *renewal.ttl > kLeaseTtlMost) {
    return InvalidField(path + "lease_ttl", "must be between 5s and 1h");
  }
  return renewal;
}

// Writes the cancel requests where they fit into the `room` that is left of the reply, and takes
// what they need of it.
void WriteCancelRequests(const std::vector<CancelRequest>& cancel_requests, size_t& room,
                         pb::RenewedLease& out) {
  const size_t before = out.ByteSizeLong();
  Write(cancel_requests, *out.mutable_cancel_requests());
  const size_t bytes = out.ByteSizeLong() - before;
  if (bytes > room) {
    out.clear_cancel_requests();
    out.set_cancel_requests_omitted(true);
    return;
  }
  room -= bytes;
}

// What is too long for an id would only be sent back.
std::string SessionOf(const pb::LeaseRenewal& lease) {
  return lease.session_id().substr(0, kSessionIdBytes);
}

void WriteFailure(const absl::Status& status, const CallFacts& call, const std::string& session,
                  pb::RenewLeasesResponse& response) {
  pb::LeaseRenewalFailure& failure = *response.add_failures();
  failure.set_session_id(session);
  *failure.mutable_status() =
      ToRpcStatus(RefusalOf(status), {.trace_id = call.trace_id, .session = session});
}

void WriteRenewed(const Renewed& renewed, const std::string& session, size_t& room,
                  pb::RenewLeasesResponse& response) {
  pb::RenewedLease& out = *response.add_renewed();
  out.set_session_id(session);
  *out.mutable_expires_in() = ToWire(renewed.expires_in);
  out.set_revision(renewed.revision.value());
  WriteCancelRequests(renewed.cancel_requests, room, out);
}

}  // namespace

absl::Status ServeRenewLeases(Sessions& sessions, Call& call, const pb::RenewLeasesRequest& request,
                              pb::RenewLeasesResponse& response) {
  const auto count = static_cast<size_t>(request.leases_size());
  if (count > kLeasesPerRenewal) return TooLarge("leases", kLeasesPerRenewal, count);
  std::vector<RenewRequest> valid;
  // By place in the request; the stores are asked about those that are valid, in one call.
  std::vector<absl::Status> invalid;
  for (int i = 0; i < request.leases_size(); ++i) {
    absl::StatusOr<RenewRequest> renewal = ReadRenewal(call.caller(), i, request.leases(i));
    invalid.push_back(renewal.status());
    if (renewal.ok()) valid.push_back(*std::move(renewal));
  }
  std::vector<absl::StatusOr<Renewed>> renewed;
  if (!valid.empty()) renewed = sessions.Renew(valid);
  size_t room = kRenewalCancelBytes;
  size_t next = 0;  // of the valid ones
  for (int i = 0; i < request.leases_size(); ++i) {
    const std::string session = SessionOf(request.leases(i));
    const absl::Status& before = invalid[static_cast<size_t>(i)];
    const absl::Status status = before.ok() ? renewed[next].status() : before;
    if (status.ok()) {
      WriteRenewed(*renewed[next], session, room, response);
    } else {
      WriteFailure(status, call.facts(), session, response);
    }
    if (before.ok()) ++next;
  }
  return absl::OkStatus();
}

}  // namespace holdfast
