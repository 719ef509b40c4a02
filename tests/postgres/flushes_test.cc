// How often the database's log is flushed for changes, counted by the database itself.
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

// A cluster that flushes its log for its clients alone.
class FlushingPostgres {
 public:
  FlushingPostgres()
      : own_({"fsync=on", "autovacuum=off", "wal_writer_delay=10s", "checkpoint_timeout=1h",
              "wal_level=minimal", "max_wal_senders=0"}) {
    own_.Start();
  }
  [[nodiscard]] std::string directory() const { return own_.directory(); }

 private:
  holdfast::testing::OwnPostgres own_;
};

class PgFlushes : public FlushingPostgres, public PostgresStoreTest {
 protected:
  PgFlushes() : PostgresStoreTest(FlushingPostgres::directory()) {}

  // How many flushes a server makes that starts, does `work`, and ends: connections tell what they
  // counted when they end.
  int64_t Flushes(absl::FunctionRef<void(SessionStore& server)> work) {
    const int64_t before = Counted();
    const auto server = AnotherServer(statements().tap());
    work(*server);
    Close(server);
    return Counted() - before;
  }

 private:
  int64_t Counted() {
    const auto others = [this] {
      return database().AskText(
          "SELECT coalesce(string_agg(application_name || ': ' || query, '; '), 'none')"
          " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
          " AND query <> ''");
    };
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return others() == "none"; })) << others();
    int64_t count = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(database().AskText("SELECT wal_sync::text FROM pg_stat_wal"), &count));
    return count;
  }
};

TEST_F(PgFlushes, AChangeIsOneAndAGroupIsOne) {
  constexpr int kSessions = 8;
  std::vector<std::unique_ptr<Changes>> many;
  std::vector<LeaseToken> tokens;
  for (int i = 0; i < kSessions; ++i) {
    many.push_back(std::make_unique<Changes>(Key(absl::StrCat("s", i)), random()));
    tokens.push_back(*LeaseToken::Parse(Apply(many.back()->Create()).token));
  }
  CloseStore();
  const int64_t opening = Flushes([](SessionStore&) {});

  constexpr int kTurns = 10;
  const int64_t alone = Flushes([&](SessionStore& server) {
    for (int i = 0; i < kTurns; ++i) {
      ASSERT_EQ(ReasonOf(server.Commit(many[0]->Begin(tokens[0]))), "OK");
      ASSERT_EQ(ReasonOf(server.Commit(many[0]->CommitTurn(tokens[0], TurnNumber(i + 1)))), "OK");
    }
  });
  EXPECT_EQ(alone - opening, 2 * kTurns);

  // Whoever comes first waits for a lock that is held until all are on their way.
  statements().Take();
  const int64_t together = Flushes([&](SessionStore& server) {
    for (int i = 0; i < kSessions; ++i) {
      ASSERT_TRUE(server.LoadForDecision(many[i]->key(), std::nullopt).ok());
    }
    const auto holder = holdfast::testing::Connect(database().dsn());
    ASSERT_EQ(holder->Script("BEGIN; LOCK TABLE holdfast.session IN EXCLUSIVE MODE"),
              absl::OkStatus());
    std::latch under_way(kSessions);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kSessions; ++i) {
      threads.emplace_back([&, i] {
        under_way.count_down();
        EXPECT_EQ(ReasonOf(server.Commit(many[i]->Write(tokens[i]))), "OK");
      });
    }
    under_way.wait();
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
      return database().AskText("SELECT count(*)::text FROM pg_locks WHERE NOT granted") != "0";
    }));
    EXPECT_EQ(holder->Script("COMMIT"), absl::OkStatus());
  });
  const std::vector<std::string> names = statements().Take();
  const auto written =
      std::ranges::count(names, "change") + std::ranges::count(names, "change_many");
  EXPECT_EQ(together - opening, written);
  EXPECT_LT(written, kSessions) << "none met another";
}

}  // namespace
}  // namespace holdfast::test
