#include "store-postgres/feed.h"

#include "platform/status_macros.h"
#include "session/limits.h"
#include "store-postgres/notifier.h"

#include <optional>
#include <utility>

namespace holdfast::pg {
namespace {

constexpr Statement kNow = {"feed_now", "SELECT pg_current_snapshot()::text"};
// What was not to be seen at the look before: of transactions that had not begun then, and of those
// that were under way. However long one of them takes, nothing is found twice for its sake. OFFSET
// 0 keeps the plan from reading all events in the order that DISTINCT would like.
constexpr Statement kLook = {
    "feed",
    "SELECT x.seen, e.tenant, e.session_id"
    " FROM (SELECT pg_current_snapshot()::text AS seen) x"
    " LEFT JOIN LATERAL (SELECT DISTINCT u.tenant, u.session_id FROM"
    "  (SELECT f.tenants, f.sessions FROM holdfast.feed f"
    "   WHERE f.xid >= pg_snapshot_xmax($1::text::pg_snapshot) AND f.writer <> $2"
    "   UNION ALL"
    "   SELECT f.tenants, f.sessions FROM pg_snapshot_xip($1::text::pg_snapshot) AS p (xid)"
    "   JOIN holdfast.feed f ON f.xid = p.xid AND f.writer <> $2"
    "   OFFSET 0) g"
    "  CROSS JOIN LATERAL unnest(g.tenants, g.sessions) AS u (tenant, session_id)"
    "  LIMIT $3) e ON true"};

}  // namespace

absl::Status Feed::Start() {
  const absl::Duration now = database_.clock.SinceBoot();
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kNow, Params()));
  seen_ = rows.Text(0, 0);
  seen_at_ = now;
  thread_ = std::jthread([this] { Run(); });
  return absl::OkStatus();
}

void Feed::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_ = std::jthread();
}

void Feed::Poke() {
  const absl::MutexLock lock(&mutex_);
  poked_ = true;
}

void Feed::Run() {
  for (;;) {
    Await();
    {
      const absl::MutexLock lock(&mutex_);
      if (stopping_) return;
      poked_ = false;
    }
    // The next one looks from the same place.
    guard_.Run([this] { Look().IgnoreError(); });
  }
}

void Feed::Await() {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kNotifyBeat);
  mutex_.AwaitWithTimeout(absl::Condition(this, &Feed::IsPoked), beat_ - kNotifyBeat);
}

absl::Status Feed::Look() {
  Params params;
  params.Text(seen_).Int(database_.writer).Int(kWakeupsMost + 1);
  const absl::Duration now = database_.clock.SinceBoot();
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kLook, params));
  seen_ = rows.Text(0, 0);
  const bool late = now - std::exchange(seen_at_, now) >= kFeedKept / 2;
  // What the limit cut off is behind the next look's beginning, and what a late look should have
  // found may be gone.
  if (rows.size() > kWakeupsMost || late) {
    change_notifier_.NotifyAll();
    return absl::OkStatus();
  }
  for (size_t row = 0; row < rows.size() && !rows.IsNull(row, 1); ++row) {
    const auto tenant = TenantId::Parse(rows.Text(row, 1));
    const auto session = SessionId::Parse(rows.Text(row, 2));
    if (tenant && session) change_notifier_.Notify({.tenant = *tenant, .session = *session});
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pg
