#include "store-fs/due_sessions.h"

#include "session/cancel_requests.h"

#include "absl/status/statusor.h"

namespace holdfast::fs {
namespace {

bool HasExpired(const KnownSessions& known, const SessionKey& key) {
  absl::StatusOr<Head> head = known.sessions.Get(key)->DurableHead();
  if (!head.ok()) return false;
  known.leases.Evaluate(key, *head);
  return head->lifecycle == Lifecycle::kActive && head->lease.state != LeaseState::kLive;
}

}  // namespace

std::vector<SessionKey> DueToRecover(const KnownSessions& known, const DueQuery& query) {
  std::vector<SessionKey> due;
  for (const SessionKey& key : known.listing.Active(query.after)) {
    if (due.size() == query.limit) break;
    if (known.leases.Quiet(key) >= query.since && HasExpired(known, key)) due.push_back(key);
  }
  return due;
}

std::vector<SessionKey> DueToEnd(const KnownSessions& known, const DueQuery& query) {
  std::vector<SessionKey> due;
  for (const SessionKey& key : known.listing.Cancelling(query.after)) {
    if (due.size() == query.limit) break;
    const absl::StatusOr<Head> head = known.sessions.Get(key)->DurableHead();
    if (head.ok() && EndIsDue(*head, known.leases.CancelRequestedFor(key), query.since)) {
      due.push_back(key);
    }
  }
  return due;
}

}  // namespace holdfast::fs
