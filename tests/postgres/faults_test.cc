// What can happen between a server and PostgreSQL, one by one. Each test ends with the service
// being normal again.
#include "tests/postgres/faults_fixture.h"
#include "tests/postgres/held_commit.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <tuple>

namespace holdfast::testing {
namespace {

using ::testing::Each;

// --- A connection that is cut while COMMIT runs ------------------------------------------------

class CutDuringCommit : public HeldCommitTest,
                        public ::testing::WithParamInterface<std::tuple<Fate, Way>> {
 protected:
  // By whose transaction the message is there.
  std::string Writer() {
    return AskText("SELECT xmin::text FROM holdfast.log WHERE msgs IS NOT NULL");
  }
};

// The server connects again by itself and sends the same change, which waits for the backend of
// before; or it cannot, says that the outcome is unknown, and the client sends it again.
TEST_P(CutDuringCommit, ActsOnce) {
  const auto [fate, way] = GetParam();
  const auto commit = served().Prepare("one", token(), "once");
  Hold(Holding::kOne);
  auto answer = served().CommitBeside(commit);
  AwaitCommit(Holding::kOne);
  if (way == Way::kShut) {
    gate().Refuse();
    const Committed given_up = answer.get();
    EXPECT_EQ(given_up.verdict.reason, "STORE_UNAVAILABLE");
    EXPECT_EQ(OutcomeOf(given_up.verdict), "unknown");
    Decide(fate, Holding::kOne);
    EXPECT_EQ(Writer(), fate == Fate::kTakesPlace ? transaction() : "");
    gate().Open();
    served().CommitAtLast(commit);
  } else {
    gate().Cut();
    ASSERT_TRUE(
        Await("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
              " AND wait_event <> 'advisory'",
              1));
    Decide(fate, Holding::kOne);
    EXPECT_EQ(answer.get().verdict.reason, "OK");
  }
  EXPECT_EQ(Writer() == transaction(), fate == Fate::kTakesPlace);
  ExpectNormal({"once"});
}

INSTANTIATE_TEST_SUITE_P(
    Pg, CutDuringCommit,
    ::testing::Combine(::testing::Values(Fate::kTakesPlace, Fate::kIsRolledBack),
                       ::testing::Values(Way::kOpen, Way::kShut)),
    [](const auto& made) { return NameOf(std::get<0>(made.param), std::get<1>(made.param)); });

// --- Backends and connections --------------------------------------------------------------------

using PgFaults = FaultsTest;

TEST_F(PgFaults, AnswersEveryCallWhenBackendsAreTerminated) {
  constexpr int kRounds = 10;
  std::vector<std::string> texts;
  std::atomic<size_t> turns = 0;
  std::atomic<bool> enough = false;
  std::thread agent([&] {
    while (!enough) {
      texts.push_back(absl::StrCat("turn ", texts.size() + 1));
      served().TakeTurn("one", token(), texts.back());
      turns = texts.size();
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    Run(kEndOthers);
    // The turn under way and another: no call spans two rounds.
    const size_t ended = turns;
    EXPECT_TRUE(WaitUntil([&] { return turns > ended + 1; }));
  }
  enough = true;
  agent.join();
  ExpectNormal(texts);
}

TEST_F(PgFaults, DelaysOnlyItsSessionWhenRowIsLocked) {
  const auto commit = served().Prepare("one", token(), "late");
  const std::string other = served().Create("two");
  const auto holder = Direct();
  ASSERT_EQ(holder->Script("BEGIN; SELECT 1 FROM holdfast.session WHERE session_id = 'one'"
                           " FOR UPDATE"),
            absl::OkStatus());
  auto answer = served().CommitBeside(commit);
  ASSERT_TRUE(Await("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", 1));
  for (int i = 0; i < 20; ++i) served().TakeTurn("two", other, "beside it");
  const Committed refused = answer.get();
  EXPECT_EQ(refused.verdict.reason, "STORE_UNAVAILABLE");
  EXPECT_EQ(OutcomeOf(refused.verdict), "known");
  ASSERT_EQ(holder->Script("COMMIT"), absl::OkStatus());
  EXPECT_EQ(served().Commit(commit).verdict.reason, "OK");
  ExpectNormal({"late"});
}

TEST_F(PgFaults, AnIdleConnectionThatTheServerEndsIsNotUsed) {
  Run("ALTER DATABASE postgres SET idle_session_timeout = '100ms'");
  gate().Cut();
  std::vector<std::string> texts;
  for (int i = 0; i < 5; ++i) {
    texts.push_back(absl::StrCat("turn ", i));
    served().TakeTurn("one", token(), texts.back());
    // Those that the turn used; the connection that listens is soon replaced by another one.
    const size_t open = gate().taken();
    ASSERT_TRUE(WaitUntil([&] { return gate().HaveEnded(open); }));
  }
  ExpectNormal(texts);
}

// --- Too many ------------------------------------------------------------------------------------

class PgTooMany : public FaultsTest {
 protected:
  // A role that is held to its number of connections, as every role but a superuser is.
  void SetUp() override {
    postgres().Start();
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres().dsn())).ok());
    Run("CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA holdfast TO app;"
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO app");
    Serve({.dsn = "host='" + gate().directory() + "' user=app dbname=postgres"});
  }
  void LimitTo(int connections) {
    Run(absl::StrCat("ALTER ROLE app CONNECTION LIMIT ", connections));
    gate().Cut();
    ASSERT_TRUE(
        Await("SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'"
              " AND state = 'active'",
              0));
  }
};

// The server may open eight connections for calls. With two, beside those of its listener and its
// notifier, it still serves all clients.
TEST_F(PgTooMany, FewerConnectionsThanTheServerMayOpenAreEnough) {
  constexpr int kClients = 12;
  constexpr int kTurns = 5;
  LimitTo(4);
  std::vector<std::thread> agents;
  for (int i = 0; i < kClients; ++i) {
    agents.emplace_back([&, i] {
      const std::string session = absl::StrCat("s", i);
      const std::string mine = served().Create(session);
      for (int turn = 0; turn < kTurns; ++turn) served().TakeTurn(session, mine, "x");
      EXPECT_EQ(served().Texts(session).size(), kTurns);
    });
  }
  for (std::thread& agent : agents) agent.join();
  Run("ALTER ROLE app CONNECTION LIMIT -1");
  ExpectNormal({});
}

TEST_F(PgTooMany, WithoutAnyItSaysSoAndGoesOnLater) {
  const auto commit = served().Prepare("one", token(), "late");
  LimitTo(0);
  const Committed refused = served().Commit(commit);
  EXPECT_EQ(refused.verdict.reason, "STORE_UNAVAILABLE");
  EXPECT_EQ(OutcomeOf(refused.verdict), "known");
  EXPECT_TRUE(WaitUntil([&] { return !served().server.Serves(); }));
  EXPECT_TRUE(served().server.AwaitLog("too many connections"));
  Run("ALTER ROLE app CONNECTION LIMIT -1");
  served().CommitAtLast(commit);
  ExpectNormal({"late"});
}

class PgFewConnections : public FaultsTest {
 protected:
  void SetUp() override {
    postgres().Start();
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres().dsn())).ok());
    // One of them is for reads.
    Serve({.dsn = DsnOf(gate().directory(), "postgres"), .store = ", connections: 3"});
  }
};

TEST_F(PgFewConnections, ReportsNoEffectWhenNoConnectionComesInTime) {
  const std::string two = served().Create("two");
  const std::string three = served().Create("three");
  const auto first = served().Prepare("one", token(), "waited");
  const auto second = served().Prepare("two", two, "waited");
  const auto third = served().Prepare("three", three, "refused at first");
  const auto holder = Direct();
  ASSERT_EQ(holder->Script("BEGIN; SELECT 1 FROM holdfast.session WHERE session_id IN"
                           " ('one', 'two') FOR UPDATE"),
            absl::OkStatus());
  auto one_waits = served().CommitBeside(first);
  auto two_waits = served().CommitBeside(second);
  ASSERT_TRUE(Await("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", 2));
  const Committed refused = served().Commit(third);
  EXPECT_EQ(refused.verdict.reason, "STORE_UNAVAILABLE");
  EXPECT_EQ(OutcomeOf(refused.verdict), "known");
  ASSERT_EQ(holder->Script("COMMIT"), absl::OkStatus());
  EXPECT_EQ(one_waits.get().verdict.reason, "OK");
  EXPECT_EQ(two_waits.get().verdict.reason, "OK");
  EXPECT_EQ(served().Commit(third).verdict.reason, "OK");
  EXPECT_EQ(served().Texts("three"), std::vector<std::string>{"refused at first"});
  ExpectNormal({"waited"});
}

// --- Silence -------------------------------------------------------------------------------------

// The bytes of the call arrive when the way is there again, and act; the repeat finds that.
TEST_F(PgFaults, AWayThatSwallowsEverythingCostsNoMoreThanTheDeadline) {
  const auto commit = served().Prepare("one", token(), "once");
  gate().Hold();
  EXPECT_EQ(served().Commit(commit, absl::Seconds(1)).verdict.reason, "code 4");
  // A server whose listener has no connection logs it.
  EXPECT_TRUE(WaitUntil([&] { return !served().server.Serves(); }));
  gate().Open();
  served().CommitAtLast(commit);
  ExpectNormal({"once"});
}

// The same, and what was on the way is lost.
TEST_F(PgFaults, AWayThatSwallowsEverythingAndIsMadeAnewActsOnce) {
  const auto commit = served().Prepare("one", token(), "once");
  gate().Hold();
  auto answer = served().CommitBeside(commit);
  EXPECT_TRUE(WaitUntil([&] { return !served().server.Serves(); }));
  gate().Cut();
  gate().Open();
  served().CommitAtLast(commit);
  EXPECT_EQ(answer.get().verdict.reason, "OK");
  ExpectNormal({"once"});
}

}  // namespace
}  // namespace holdfast::testing
