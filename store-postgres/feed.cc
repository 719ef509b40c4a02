#include "store-postgres/feed.h"

#include "session/limits.h"
#include "session/status_macros.h"

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <optional>

namespace holdfast::pg {
namespace {

constexpr absl::Duration kFeedBeat = absl::Seconds(1);

constexpr Statement kHorizon = {"feed_horizon",
                                "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"};
// OFFSET 0 keeps the plan from reading all events in the order that DISTINCT would like.
constexpr Statement kLook = {
    "feed",
    "SELECT x.horizon, e.tenant, e.session_id"
    " FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon) x"
    " LEFT JOIN LATERAL (SELECT DISTINCT g.tenant, g.session_id FROM"
    "  (SELECT f.tenant, f.session_id FROM holdfast.event f"
    "   WHERE f.xid >= $1::text::xid8 AND f.writer <> $2 OFFSET 0) g"
    "  LIMIT $3) e ON true"};

}  // namespace

absl::Status Feed::Start() {
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kHorizon, Params()));
  horizon_ = rows.Text(0, 0);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  return absl::OkStatus();
}

void Feed::Stop() { thread_ = std::jthread(); }

void Feed::Run(const std::stop_token& stop) {
  absl::Mutex mutex;
  const std::stop_callback wake(stop, [&] { const absl::MutexLock lock(&mutex); });
  while (!stop.stop_requested()) {
    {
      const absl::MutexLock lock(&mutex);
      const auto stopped = [&] { return stop.stop_requested(); };
      mutex.AwaitWithTimeout(absl::Condition(&stopped), kFeedBeat);
    }
    if (!stop.stop_requested()) Look().IgnoreError();  // the next one looks from the same place
  }
}

absl::Status Feed::Look() {
  Params params;
  params.Text(horizon_).Int(database_.writer).Int(kWakeupsMost + 1);
  ASSIGN_OR_RETURN(const Rows rows, database_.Ask(kLook, params));
  horizon_ = rows.Text(0, 0);
  for (size_t row = 0; row < rows.size() && !rows.IsNull(row, 1); ++row) {
    const auto tenant = TenantId::Parse(rows.Text(row, 1));
    const auto session = SessionId::Parse(rows.Text(row, 2));
    if (tenant && session) bell_.Ring({.tenant = *tenant, .session = *session});
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pg
