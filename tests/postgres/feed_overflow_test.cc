// More sessions with events of other servers than one look at the feed names.
#include "session/change_notifier.h"
#include "session/limits.h"
#include "store-postgres/feed.h"
#include "tests/postgres/store_fixture.h"

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

constexpr size_t kWokenSessions = kWakeupsMost + 100;
constexpr int kOverflows = 20;
constexpr absl::Duration kWokenWithin = absl::Minutes(1);

class PgFeedOverflow : public PostgresStoreTest {
 protected:
  // Events of another server in every session, by one transaction.
  void TouchAll() {
    database().Run(absl::StrCat(
        "INSERT INTO holdfast.feed (writer, at, tenants, sessions)"
        " SELECT 7, holdfast.clock(), array_agg('default'::text), array_agg('session-' || n)"
        " FROM generate_series(1, ",
        kWokenSessions, ") n GROUP BY n % 100"));
  }
};

// A reader that takes the first names while the others are still being added loses none.
TEST_F(PgFeedOverflow, WakesEverySessionThatOneLookCutsOff) {
  pg::Pool pool({.connect = {.dsn = database().dsn()}}, clock());
  const pg::StoreClock store_clock(clock());
  const pg::Database looked_at{.pool = pool,
                               .clock = clock(),
                               .store_clock = store_clock,
                               .store = {},
                               .incarnation = {},
                               .report = {}};
  ChangeNotifier change_notifier;
  pg::Feed feed(looked_at, change_notifier, absl::Milliseconds(50));
  ASSERT_EQ(feed.Start(), absl::OkStatus());
  const absl::Cleanup stop = [&] { feed.Stop(); };
  for (int round = 0; round < kOverflows; ++round) {
    TouchAll();
    absl::flat_hash_set<SessionKey> named;
    bool all = false;
    while (!all && named.size() < kWokenSessions) {
      const auto wakeups = change_notifier.Wait(kWokenWithin);
      ASSERT_TRUE(wakeups.ok() && (wakeups->all || !wakeups->sessions.empty()))
          << "round " << round << ": " << named.size() << " of " << kWokenSessions << " were woken";
      named.insert(wakeups->sessions.begin(), wakeups->sessions.end());
      all = wakeups->all;
    }
  }
}

}  // namespace
}  // namespace holdfast::test
