#include "store-fs/due_sessions.h"

#include "session/marks.h"

#include <utility>

namespace holdfast::fs {
namespace {

// The head as it is durable; nothing of a session that cannot be read.
std::optional<Head> HeadOf(SessionTable& sessions, const SessionKey& key) {
  Head head;
  const absl::Status looked =
      sessions.Get(key)->Look([&](const Contents& contents, const auto&) { head = contents.head; });
  return looked.ok() ? std::optional(std::move(head)) : std::nullopt;
}

bool HasExpired(const KnownSessions& known, const SessionKey& key) {
  std::optional<Head> head = HeadOf(known.sessions, key);
  if (!head) return false;
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
    const std::optional<Head> head = HeadOf(known.sessions, key);
    if (head && EndIsDue(*head, known.leases.MarkedFor(key), query.since)) due.push_back(key);
  }
  return due;
}

}  // namespace holdfast::fs
