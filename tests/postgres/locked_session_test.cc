// Many calls of one session whose row another transaction has locked: they take a few of a server's
// threads and connections, and the calls of all other sessions are served.
#include "server/worker_pool.h"
#include "session/limits.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kWorkers = 64;
constexpr int kUnlockedSessions = 16;
constexpr int kCallsOfEach = 4;

class PgLockedSession : public PostgresStoreTest {
 protected:
  void SetUp() override {
    WaitLongForLocks();
    Create();
    for (int i = 0; i < kUnlockedSessions; ++i) {
      others_.push_back(std::make_unique<Changes>(Key(absl::StrCat("other-", i)), random()));
      Apply(others_.back()->Create());
    }
    holder_ = holdfast::testing::Connect(database().dsn());
    ASSERT_EQ(holder_->Script("SET idle_in_transaction_session_timeout = 0;"
                              "BEGIN; SELECT 1 FROM holdfast.session WHERE session_id = 'alpha'"
                              " FOR UPDATE"),
              absl::OkStatus());
  }

  // Functions of the store wait an hour for a locked row, and not ten seconds: on a loaded machine
  // too, all other calls are served before the database gives the lock's first waiter up.
  void WaitLongForLocks() {
    database().Run(
        "DO $$ DECLARE made text; n integer := 0; BEGIN"
        " FOR made IN SELECT pg_get_functiondef(oid) FROM pg_proc"
        "  WHERE pronamespace = 'holdfast'::regnamespace AND prosrc LIKE '%''10s''%' LOOP"
        "   EXECUTE replace(made, '''10s''', '''1h'''); n := n + 1; END LOOP;"
        " ASSERT n > 0; END $$");
  }

  // Commits of the other sessions, each to be counted when it was acknowledged.
  void WriteToOthers(WorkerPool& pool, std::atomic<int>& served) {
    for (int call = 0; call < kCallsOfEach; ++call) {
      for (const auto& other : others_) {
        ASSERT_TRUE(pool.Submit([this, &other, &served] {
          const auto result = store().Commit(other->Update({{"title", "x"}}));
          EXPECT_EQ(ReasonOf(result), "OK");
          ++served;
        }));
      }
    }
  }
  void Unlock() { ASSERT_EQ(holder_->Script("COMMIT"), absl::OkStatus()); }

 private:
  std::vector<std::unique_ptr<Changes>> others_;
  std::unique_ptr<pg::Connection> holder_;
};

TEST_F(PgLockedSession, LeavesWorkersToTheOthers) {
  std::atomic<size_t> refused = 0;
  std::atomic<size_t> applied = 0;
  std::atomic<size_t> failed = 0;
  std::atomic<int> served = 0;
  std::vector<Change> changes_of_alpha;
  for (size_t i = 0; i < kWorkers; ++i) {
    changes_of_alpha.push_back(changes().Update({{"title", absl::StrCat(i)}}));
  }
  {
    WorkerPool pool({.workers = kWorkers, .queued = 1000});
    for (const Change& change : changes_of_alpha) {
      ASSERT_TRUE(pool.Submit([&] {
        const auto result = store().Commit(change);
        if (ReasonOf(result) == "OVERLOADED") {
          const Refusal refusal = RefusalOf(result.status());
          EXPECT_EQ(refusal.facts().at("outcome"), "known");
          EXPECT_TRUE(refusal.retry_after().has_value());
          ++refused;
        } else {
          ++(ReasonOf(result) == "OK" ? applied : failed);
        }
      }));
    }
    WriteToOthers(pool, served);
    EXPECT_TRUE(
        holdfast::testing::WaitUntil([&] { return served == kUnlockedSessions * kCallsOfEach; }));
    // They did not have to wait until the database gave the lock's first waiter up.
    EXPECT_EQ(failed, 0U);
    constexpr size_t kRefused = kWorkers - 1 - kWaitersPerSession;
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return refused == kRefused; })) << refused;
    Unlock();
  }
  EXPECT_EQ(failed, 0U);
  EXPECT_EQ(applied, 1 + kWaitersPerSession);
  Apply(changes().Update({{"title", "free"}}));
}

TEST_F(PgLockedSession, RefusesLaterCallsAtOnce) {
  std::vector<std::jthread> callers;
  std::atomic<size_t> refused = 0;
  for (size_t i = 0; i < 2 * kWaitersPerSession; ++i) {
    callers.emplace_back([&, change = changes().Update({{"title", "x"}})] {
      if (ReasonOf(store().Commit(change)) == "OVERLOADED") ++refused;
    });
  }
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return refused == kWaitersPerSession - 1; }));
  EXPECT_EQ(ReasonOf(store().Commit(changes().Update({{"title", "y"}}))), "OVERLOADED");
  Unlock();
}

// The read of a request's outcome waits for the row, too.
TEST_F(PgLockedSession, LeavesConnectionsToTheOthers) {
  const RequestId request = NewRequest(random());
  std::vector<std::jthread> callers;
  for (size_t i = 0; i < kWaitersPerSession; ++i) {
    callers.emplace_back([&] { store().LoadForOutcome(key(), request).status().IgnoreError(); });
  }
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] {
    return database().AskText(
               "SELECT (count(*) > 0)::text FROM pg_stat_activity WHERE datname ="
               " current_database() AND wait_event_type = 'Lock'") == "true";
  }));
  WorkerPool pool({.workers = 4, .queued = 1000});
  std::atomic<int> served = 0;
  WriteToOthers(pool, served);
  EXPECT_TRUE(
      holdfast::testing::WaitUntil([&] { return served == kUnlockedSessions * kCallsOfEach; }));
  EXPECT_EQ(database().AskText(
                "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()"
                " AND wait_event_type = 'Lock'"),
            "1");
  Unlock();
}

}  // namespace
}  // namespace holdfast::test
