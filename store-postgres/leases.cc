#include "store-postgres/leases.h"

#include "platform/digest.h"
#include "platform/status_macros.h"
#include "session/guard.h"
#include "session/refusal.h"
#include "store-postgres/stored_head.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace holdfast::pg {
namespace {

constexpr Statement kRenew = {
    "renew",
    "SELECT version, store_id, deleted, head, head_sum, lease_left, renewed, ttl, skipped"
    " FROM holdfast.renew($1, $2, $3, $4, $5, $6, $7)"};
enum RenewalColumn : size_t { kRenewed = kStoredHeadColumns, kTtl, kSkipped };

// Of the leases in one call whose rows another transaction has locked, so many are waited for.
constexpr int kAwaitedMost = 8;

// What a renewal does with a row that another transaction has locked.
enum class WhenLocked : uint8_t { kWait, kSkip };

Params RenewalParams(const Database& database, WhenLocked when_locked,
                     std::span<const RenewRequest> requests) {
  std::vector<std::string> tenants;
  std::vector<std::string> sessions;
  std::vector<std::string> uids;
  std::vector<int64_t> epochs;
  std::vector<std::string> hashes;
  std::vector<std::optional<int64_t>> ttls;
  for (const RenewRequest& request : requests) {
    const LeaseToken& token = request.token;
    const bool ours = token.store == database.store && token.incarnation == database.incarnation;
    const Digest hash = Sha256(token.secret);
    tenants.push_back(request.key.tenant.value());
    sessions.push_back(request.key.session.value());
    uids.push_back(token.uid.value());
    epochs.push_back(static_cast<int64_t>(token.epoch.value()));
    hashes.emplace_back(ours ? View(hash) : std::string_view());  // no hash is empty
    ttls.push_back(request.ttl ? std::optional(absl::ToInt64Microseconds(*request.ttl))
                               : std::nullopt);
  }
  Params params;
  params.Bool(when_locked == WhenLocked::kWait);
  params.Texts(tenants).Texts(sessions).Texts(uids).Ints(epochs);
  params.BytesArray(std::vector<std::string_view>(hashes.begin(), hashes.end())).NullableInts(ttls);
  return params;
}

absl::StatusOr<Renewed> ReadRenewed(const Rows& rows, size_t row, const Database& database,
                                    const LeaseToken& token) {
  StoredHead stored = ReadStoredHead(rows, row, database);
  RETURN_IF_ERROR(stored.refusal);
  Head& head = stored.head;
  if (rows.Bool(row, kRenewed)) {
    return Renewed{.expires_in = rows.Interval(row, kTtl),
                   .revision = head.revision,
                   .cancel_requests = std::move(head.cancel_requests)};
  }
  Guard guard;
  guard.trigger = Trigger::kRenew;
  guard.lease = LeaseRule::kMustHold;
  guard.token = token;
  if (const auto refusal = CheckGuard(head, guard, {})) return refusal->ToStatus();
  return StoreUnavailable("the lease was not renewed: try again", Fate::kNoEffect);
}

// Waits for a row that another transaction has locked, on a connection that reads do not use, and
// holds no other session's row meanwhile.
absl::StatusOr<Renewed> RenewLocked(const Database& database, const RenewRequest& request) {
  const std::span<const RenewRequest> one(&request, 1);
  ASSIGN_OR_RETURN(const Rows rows,
                   database.AskFlushed(kRenew, RenewalParams(database, WhenLocked::kWait, one)));
  return ReadRenewed(rows, 0, database, request.token);
}

}  // namespace

std::vector<absl::StatusOr<Renewed>> Renew(const Database& database,
                                           const std::vector<RenewRequest>& requests) {
  const absl::StatusOr<Rows> rows =
      database.Ask(kRenew, RenewalParams(database, WhenLocked::kSkip, requests));
  std::vector<absl::StatusOr<Renewed>> answers;
  answers.reserve(requests.size());
  int awaited = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!rows.ok()) {
      answers.emplace_back(rows.status());
    } else if (rows->Bool(i, kSkipped) && awaited++ < kAwaitedMost) {
      answers.push_back(RenewLocked(database, requests[i]));
    } else {
      answers.push_back(ReadRenewed(*rows, i, database, requests[i].token));
    }
  }
  return answers;
}

}  // namespace holdfast::pg
