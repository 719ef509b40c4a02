#include "server/rpc/renew.h"

#include "server/rpc/convert_fields.h"
#include "server/rpc/convert_session.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "session/status_macros.h"

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

// Writes the marks where they fit into the `room` that is left of the reply, and takes what they
// need of it.
void WriteMarks(const std::vector<CancelMark>& marks, size_t& room, pb::LeaseRenewalResult& out) {
  const size_t before = out.ByteSizeLong();
  Write(marks, *out.mutable_cancel_marks());
  const size_t bytes = out.ByteSizeLong() - before;
  if (bytes > room) {
    out.clear_cancel_marks();
    out.set_cancel_marks_left_out(true);
    return;
  }
  room -= bytes;
}

void WriteResult(const absl::StatusOr<Renewed>& renewed, const CallFacts& call, size_t& room,
                 pb::LeaseRenewalResult& out) {
  google::rpc::Status& status = *out.mutable_status();
  if (!renewed.ok()) {
    status = ToRpcStatus(RefusalOf(renewed.status()),
                         {.trace_id = call.trace_id, .session = out.session_id()});
    return;
  }
  *out.mutable_expires_in() = ToWire(renewed->expires_in);
  out.set_revision(renewed->revision.value());
  WriteMarks(renewed->marks, room, out);
}

}  // namespace

absl::Status ServeRenewLeases(Sessions& sessions, Call& call, const pb::RenewLeasesRequest& request,
                              pb::RenewLeasesResponse& response) {
  const auto count = static_cast<size_t>(request.leases_size());
  if (count > kLeasesPerRenewal) return TooLarge("leases", kLeasesPerRenewal, count);
  std::vector<RenewRequest> valid;
  std::vector<int> places;  // of the valid ones, in the request
  size_t room = Sabotaged(Saboteur::kNoRenewalBound) ? SIZE_MAX : kRenewalMarksBytes;
  for (int i = 0; i < request.leases_size(); ++i) {
    pb::LeaseRenewalResult& result = *response.add_results();
    // What is too long for an id would only be sent back.
    result.set_session_id(request.leases(i).session_id().substr(0, kSessionIdBytes));
    absl::StatusOr<RenewRequest> renewal = ReadRenewal(call.caller(), i, request.leases(i));
    if (!renewal.ok()) {
      WriteResult(renewal.status(), call.facts(), room, result);
      continue;
    }
    valid.push_back(*std::move(renewal));
    places.push_back(i);
  }
  if (valid.empty()) return absl::OkStatus();
  const auto renewed = sessions.Renew(valid);
  for (size_t i = 0; i < renewed.size(); ++i) {
    WriteResult(renewed[i], call.facts(), room, *response.mutable_results(places[i]));
  }
  return absl::OkStatus();
}

}  // namespace holdfast
