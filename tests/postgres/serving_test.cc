// The servers of one store, and what a server that starts beside others must not touch.
#include "store-postgres/admin/migrate.h"
#include "store-postgres/admin/schema_status.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <future>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::SizeIs;

class PgServing : public PostgresStoreTest {
 protected:
  PgServing() { database().StopClock(); }

  std::vector<pg::ServingServer> Serving() {
    const auto serving = pg::ReadServing(*holdfast::testing::ConnectAdmin(database().dsn()));
    EXPECT_TRUE(serving.ok()) << serving.status();
    return serving.value_or(std::vector<pg::ServingServer>());
  }
  std::string OpenedAt() {
    return database().AskText("SELECT activated_at::text FROM holdfast.store");
  }
  LeaseState Lease() {
    const auto loaded = store().LoadForDecision(key(), std::nullopt);
    EXPECT_EQ(ReasonOf(loaded.status()), "OK");
    return loaded.ok() ? loaded->head.lease.state : LeaseState::kFree;
  }
  void KillListener() {
    database().Run(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'holdfastd listener'");
  }
};

TEST_F(PgServing, ListsEachServerUntilItEnds) {
  ASSERT_THAT(Serving(), SizeIs(1));
  const auto other = AnotherServer();
  const std::vector<pg::ServingServer> both = Serving();
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[0].schema, pg::NeededSchema());
  EXPECT_NE(both[0].writer, both[1].writer);
  EXPECT_NE(both[0].backend, both[1].backend);
  Close(other);
  EXPECT_THAT(Serving(), SizeIs(1));
  CloseStore();
  EXPECT_THAT(Serving(), SizeIs(0));
}

TEST_F(PgServing, OneWhoseConnectionIsKilledComesBack) {
  const std::vector<pg::ServingServer> before = Serving();
  ASSERT_THAT(before, SizeIs(1));
  const std::string opened = OpenedAt();
  database().Advance(absl::Seconds(1));
  KillListener();
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
    const std::vector<pg::ServingServer> now = Serving();
    return now.size() == 1 && now[0].backend != before[0].backend;
  }));
  EXPECT_EQ(Serving()[0].writer, before[0].writer);
  EXPECT_EQ(OpenedAt(), opened) << "it went on serving";
}

// What is left of one that was killed: its row, and no lock.
TEST_F(PgServing, OneThatIsGoneDoesNotCount) {
  CloseStore();
  database().Run("INSERT INTO holdfast.server VALUES (7, 5, 0, '2001-01-01')");
  EXPECT_THAT(Serving(), SizeIs(0));
  const std::string opened = OpenedAt();
  database().Advance(absl::Seconds(1));
  const auto next = AnotherServer();
  EXPECT_NE(OpenedAt(), opened);
  EXPECT_EQ(database().AskText("SELECT count(*)::text FROM holdfast.server"), "1");
  Close(next);
}

TEST_F(PgServing, AServerThatStartsBesideAnotherProlongsNothing) {
  Create();
  ASSERT_EQ(Lease(), LeaseState::kLive);
  database().Advance(absl::Hours(2));
  ASSERT_EQ(Lease(), LeaseState::kExpired);
  const auto other = AnotherServer();
  EXPECT_EQ(Lease(), LeaseState::kExpired);
  Close(other);
  EXPECT_EQ(Lease(), LeaseState::kExpired);
}

TEST_F(PgServing, QuietTimeGoesOnWhenAServerStartsBesideAnother) {
  Create();
  Begin();
  database().Advance(absl::Hours(2));
  const auto other = AnotherServer();
  const auto due = other->ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10);
  ASSERT_TRUE(due.ok());
  EXPECT_THAT(*due, ::testing::ElementsAre(key()));
  Close(other);
}

// A step that this program does not know, and may not serve beside.
class PgServingMoves : public PgServing {
 protected:
  // Takes the steps of this program and one more, whose text is `sql`; by a thread of its own.
  std::future<absl::StatusOr<int>> MoveOn(const std::string& sql) {
    return std::async(std::launch::async, [this, sql] {
      std::vector<pg::Migration> steps(pg::Migrations().begin(), pg::Migrations().end());
      steps.push_back({.version = pg::NeededSchema() + 1, .name = "newer", .sql = sql});
      return pg::Migrate(*holdfast::testing::ConnectAdmin(database().dsn()), steps);
    });
  }
  bool AwaitWaiting(const std::string& lock) {
    return holdfast::testing::WaitUntil([&] {
      return database().AskText(absl::StrCat(
                 "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                 " AND wait_event = '",
                 lock, "' AND datname = current_database()")) == "1";
    });
  }
};

TEST_F(PgServingMoves, AServerThatStartsDuringAStepWaitsAndIsRefused) {
  CloseStore();
  const auto holder = holdfast::testing::Connect(database().dsn());
  ASSERT_EQ(holder->Script("SELECT pg_advisory_lock(7)"), absl::OkStatus());
  auto moved = MoveOn("SELECT pg_advisory_xact_lock(7)");
  ASSERT_TRUE(AwaitWaiting("advisory"));
  const auto late = database().Make(clock(), random());
  ASSERT_EQ(late->Init(), absl::OkStatus()) << "nothing of the step is to be seen yet";
  auto entered = std::async(std::launch::async, [&] { return late->Activate(); });
  EXPECT_TRUE(AwaitWaiting("transactionid"));
  ASSERT_EQ(holder->Script("SELECT pg_advisory_unlock(7)"), absl::OkStatus());
  const absl::StatusOr<int> taken = moved.get();
  EXPECT_TRUE(taken.ok()) << taken.status();
  const absl::Status answer = entered.get();
  EXPECT_EQ(ReasonOf(answer), "STORE_UNAVAILABLE");
  EXPECT_THAT(Serving(), SizeIs(0));
  answer.ok() ? Close(late) : late->Dispose();
}

TEST_F(PgServingMoves, AStepWaitsForAServerThatIsBeingEnteredAndIsNotTaken) {
  CloseStore();
  const auto entering = holdfast::testing::Connect(database().dsn());
  ASSERT_EQ(entering->Script(
                absl::StrCat("BEGIN; SELECT holdfast.take_up(77, ", pg::NeededSchema(), ")")),
            absl::OkStatus());
  auto moved = MoveOn("SELECT 1");
  ASSERT_TRUE(AwaitWaiting("transactionid"));
  ASSERT_EQ(entering->Script("COMMIT"), absl::OkStatus());
  const auto refused = moved.get();
  EXPECT_EQ(ReasonOf(refused.status()), "STORE_UNAVAILABLE");
  EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("would cut off a running server"));
  EXPECT_THAT(Serving(), SizeIs(1));
}

}  // namespace
}  // namespace holdfast::test
