#include "store-postgres/pg/pool.h"

#include "tests/support/fake_clock.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <atomic>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

namespace holdfast::testing {
namespace {

using pg::Pool;
using pg::PoolOptions;
using test::FakeClock;

constexpr pg::Statement kEndOther = {"end_other", "SELECT pg_terminate_backend($1, 10000)"};
constexpr absl::Duration kSoon = absl::Milliseconds(20);
constexpr absl::Duration kSent = absl::Seconds(2);  // after it a statement is on its way

PoolOptions Options(size_t size) {
  return {.connect = {.dsn = DsnOf(SharedPostgres(), "postgres")}, .size = size};
}

void EndBackend(int pid) {
  const auto other = Connect(DsnOf(SharedPostgres(), "postgres"));
  ASSERT_TRUE(std::holds_alternative<pg::Rows>(other->Run(kEndOther, pg::Params().Int4(pid))));
}

TEST(PgPool, LendsLastReturnedConnection) {
  FakeClock clock;
  Pool pool(Options(3), clock);
  int last = 0;
  {
    absl::StatusOr<Pool::Lease> first = pool.Take(kSoon);
    absl::StatusOr<Pool::Lease> second = pool.Take(kSoon);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_NE((*first)->backend_pid(), (*second)->backend_pid());
    last = (*first)->backend_pid();  // destroyed last
  }
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<Pool::Lease> lease = pool.Take(kSoon);
    ASSERT_TRUE(lease.ok());
    EXPECT_EQ((*lease)->backend_pid(), last);
  }
  EXPECT_EQ(pool.stats().open, 2U);
  EXPECT_EQ(pool.stats().idle, 2U);
  EXPECT_EQ(pool.stats().opened, 2U);
}

TEST(PgPool, RefusesWhenNoneComesFreeInTime) {
  FakeClock clock;
  Pool pool(Options(1), clock);
  absl::StatusOr<Pool::Lease> held = pool.Take(kSoon);
  ASSERT_TRUE(held.ok());
  const absl::Status refused = pool.Take(kSoon).status();
  EXPECT_TRUE(Is(refused, Reason::kStoreUnavailable));
  EXPECT_EQ(RefusalOf(refused).facts().at("outcome"), "known");
  EXPECT_EQ(pool.stats().waits, 1U);
  EXPECT_EQ(pool.stats().given_up, 1U);
}

TEST(PgPool, AWaitingCallerGetsWhatIsGivenBack) {
  FakeClock clock;
  Pool pool(Options(1), clock);
  std::optional<Pool::Lease> held = *pool.Take(kSoon);
  std::atomic<bool> got = false;
  std::thread waiting([&] { got = pool.Take(absl::Minutes(1)).ok(); });
  EXPECT_TRUE(WaitUntil([&] { return pool.stats().waits == 1; }));
  held.reset();
  waiting.join();
  EXPECT_TRUE(got);
}

TEST(PgPool, NeverLendsEndedConnection) {
  FakeClock clock;
  Pool pool(Options(1), clock);
  const int pid = (*pool.Take(kSoon))->backend_pid();
  EndBackend(pid);
  absl::StatusOr<Pool::Lease> lease = pool.Take(kSoon);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_NE((*lease)->backend_pid(), pid);
  EXPECT_EQ(pool.stats().open, 1U);
}

TEST(PgPool, ClosesWhatIsGivenBackBrokenOrInATransaction) {
  FakeClock clock;
  Pool pool(Options(1), clock);
  {
    absl::StatusOr<Pool::Lease> lease = pool.Take(kSoon);
    ASSERT_EQ((*lease)->Script("BEGIN"), absl::OkStatus());
  }
  EXPECT_EQ(pool.stats().open, 0U);
  {
    absl::StatusOr<Pool::Lease> lease = pool.Take(kSoon);
    EXPECT_TRUE((*lease)->Idle());
    EXPECT_NE((*lease)->Script("SELECT pg_terminate_backend(pg_backend_pid())"), absl::OkStatus());
  }
  EXPECT_EQ(pool.stats().open, 0U);
}

TEST(PgPool, ReplacesWhatHasLivedLongEnough) {
  FakeClock clock;
  Pool pool(Options(1), clock);
  const int pid = (*pool.Take(kSoon))->backend_pid();
  clock.Advance(absl::Minutes(29));
  EXPECT_EQ((*pool.Take(kSoon))->backend_pid(), pid);
  clock.Advance(absl::Minutes(2));
  EXPECT_NE((*pool.Take(kSoon))->backend_pid(), pid);
}

TEST(PgPool, ReportsCauseToOperatorAndLessToCaller) {
  FakeClock clock;
  std::string report;
  Pool pool({.connect = {.dsn = "host=/nonexistent dbname=x"},
             .report = [&](const std::string& why) { report = why; }},
            clock);
  const absl::Status refused = pool.Take(kSoon).status();
  EXPECT_TRUE(Is(refused, Reason::kStoreUnavailable));
  EXPECT_EQ(refused.message().find("nonexistent"), std::string::npos);
  EXPECT_NE(report.find("nonexistent"), std::string::npos);
  EXPECT_EQ(pool.stats().open, 0U);
}

TEST(PgPool, ClosesConnectionWhoseCheckFails) {
  FakeClock clock;
  PoolOptions options = Options(1);
  options.check = [](pg::Connection&) { return absl::FailedPreconditionError("not this one"); };
  Pool pool(options, clock);
  EXPECT_FALSE(pool.Take(kSoon).ok());
  EXPECT_EQ(pool.stats().open, 0U);
}

TEST(PgPool, ANewerTimelineRetiresOlderConnections) {
  FakeClock clock;
  PoolOptions options = Options(2);
  uint32_t timeline = 1;
  options.check = [&](pg::Connection& connection) {
    connection.set_timeline(timeline);
    return absl::OkStatus();
  };
  Pool pool(options, clock);
  const int pid = (*pool.Take(kSoon))->backend_pid();
  pool.SawTimeline(2);
  EXPECT_FALSE(pool.Take(kSoon).ok()) << "the server that answers is on the old timeline";
  timeline = 2;
  absl::StatusOr<Pool::Lease> lease = pool.Take(kSoon);
  ASSERT_TRUE(lease.ok());
  EXPECT_NE((*lease)->backend_pid(), pid);
  EXPECT_EQ(pool.newest_timeline(), 2U);
}

TEST(PgPool, LendsAndKeepsNothingWhenClosed) {
  FakeClock clock;
  Pool pool(Options(2), clock);
  std::optional<Pool::Lease> held = *pool.Take(kSoon);
  EXPECT_TRUE(pool.Take(kSoon).ok());
  pool.Close();
  EXPECT_EQ(pool.stats().idle, 0U);
  EXPECT_FALSE(pool.Take(kSoon).ok());
  held.reset();
  EXPECT_EQ(pool.stats().open, 0U);
}

// Another connection holds the lock that the statement waits for, which is of this process: tests
// that run at the same time share the database.
class PgPoolUnanswered : public ::testing::Test {
 protected:
  PgPoolUnanswered() {
    EXPECT_EQ(holder_->Script(absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", getpid(), ")")),
              absl::OkStatus());
  }
  // Gives a statement up that goes on to wait in the server.
  void GiveOneUp() {
    constexpr pg::Statement kLock = {"lock",
                                     "SELECT pg_advisory_xact_lock($1::bigint) IS NOT NULL"};
    absl::StatusOr<Pool::Lease> lease = pool_.Take(kSoon);
    ASSERT_TRUE(lease.ok());
    const pg::Answer answer = (*lease)->RunWithin(kSent, kLock, pg::Params().Int(getpid()));
    ASSERT_TRUE(std::holds_alternative<pg::Failure>(answer));
    EXPECT_EQ(std::get<pg::Failure>(answer).effect, pg::Effect::kUnknown);
  }
  void LetGo() { EXPECT_EQ(holder_->Script("COMMIT"), absl::OkStatus()); }

  FakeClock clock_;
  Pool pool_{Options(2), clock_};

 private:
  const std::unique_ptr<pg::Connection> holder_ = Connect(DsnOf(SharedPostgres(), "postgres"));
};

TEST_F(PgPoolUnanswered, WhatIsStillAtWorkCountsUntilItEnds) {
  GiveOneUp();
  EXPECT_EQ(pool_.stats().open, 1U);
  EXPECT_EQ(pool_.stats().unanswered, 1U);
  {
    const absl::StatusOr<Pool::Lease> other = pool_.Take(kSoon);
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE(pool_.Take(kSoon).ok()) << "the server is at work for two";
    LetGo();
    EXPECT_TRUE(WaitUntil([&] { return pool_.Take(kSoon).ok(); }));
  }
  EXPECT_EQ(pool_.stats().unanswered, 0U);
  EXPECT_EQ(pool_.stats().open, 2U);
}

TEST_F(PgPoolUnanswered, ItIsClosedWhenItIsTooOld) {
  GiveOneUp();
  GiveOneUp();
  EXPECT_FALSE(pool_.Take(kSoon).ok());
  clock_.Advance(absl::Minutes(31));
  EXPECT_TRUE(pool_.Take(kSoon).ok());
  EXPECT_EQ(pool_.stats().unanswered, 0U);
  LetGo();
}

TEST_F(PgPoolUnanswered, AClosedPoolKeepsNone) {
  GiveOneUp();
  pool_.Close();
  EXPECT_EQ(pool_.stats().open, 0U);
  EXPECT_EQ(pool_.stats().unanswered, 0U);
  LetGo();
}

TEST(PgPool, AQuarterIsNotLentForWriting) {
  FakeClock clock;
  Pool pool(Options(4), clock);
  std::vector<absl::StatusOr<Pool::Lease>> writing;
  for (int i = 0; i < 3; ++i) writing.push_back(pool.Take(kSoon, pg::Purpose::kWrite));
  EXPECT_TRUE(writing.back().ok());
  EXPECT_FALSE(pool.Take(kSoon, pg::Purpose::kWrite).ok());
  EXPECT_TRUE(pool.Take(kSoon).ok());
  writing.pop_back();
  EXPECT_TRUE(pool.Take(kSoon, pg::Purpose::kWrite).ok());
}

TEST(PgPool, EightThreadsShareTwoConnections) {
  constexpr int kThreads = 8;
  constexpr int kTurns = 50;
  FakeClock clock;
  Pool pool(Options(2), clock);
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      constexpr pg::Statement kOne = {"one", "SELECT 1::bigint"};
      for (int turn = 0; turn < kTurns; ++turn) {
        absl::StatusOr<Pool::Lease> lease = pool.Take(absl::Minutes(1));
        if (!lease.ok()) continue;
        if (std::holds_alternative<pg::Rows>((*lease)->Run(kOne, pg::Params()))) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads * kTurns);
  EXPECT_LE(pool.stats().opened, 2U);
}

}  // namespace
}  // namespace holdfast::testing
