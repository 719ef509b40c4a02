// A standby that every commit waits for, and what can happen to it: it falls silent, the wait is
// cancelled, the primary is lost meanwhile. What was acknowledged is there afterwards, and what was
// not acts once when it is sent again.
#include "store-postgres/admin/migrate.h"
#include "tests/postgres/faults_fixture.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include <gmock/gmock.h>

#include <chrono>

namespace holdfast::testing {
namespace {

using ::testing::IsEmpty;

// Changes alone: a check of the store's health waits for the standby, too.
constexpr char kWaitingChanges[] =
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE wait_event = 'SyncRep' AND query LIKE '%holdfast.change%'";
constexpr char kWho[] =
    "SELECT min(pid) FROM pg_stat_activity"
    " WHERE wait_event = 'SyncRep' AND query LIKE '%holdfast.change%'";
constexpr char kCancelBackends[] =
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

class PgStandbyFaults : public FaultsTest {
 protected:
  PgStandbyFaults() : FaultsTest({"fsync=off", "synchronous_standby_names=*"}) {}
  void SetUp() override {
    postgres().Start();
    standby_.CopyFrom(postgres());
    standby_.Start();
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres().dsn())).ok());
    Serve({.dsn = BothHosts()});
  }

  std::string BothHosts() {
    return "host=" + postgres().directory() + "," + standby_.directory() +
           " user=holdfast dbname=postgres";
  }

  OwnPostgres& standby() { return standby_; }
  // The primary is lost, and the standby takes its place.
  void FailOver() {
    postgres().Kill();
    Promote();
  }
  void Promote() {
    ASSERT_EQ(Connect(standby_.dsn())->Script("SELECT pg_promote(true, 60)"), absl::OkStatus());
  }
  // Cancels the wait for the standby, and waits until the server, which does not believe the
  // answer, has sent the same again and waits once more.
  void CancelTheWait() {
    ASSERT_TRUE(Await(kWaitingChanges, 1));
    const int64_t before = Number(kWho);
    Run(kCancelBackends);
    ASSERT_TRUE(Await(absl::StrCat(kWaitingChanges, " AND pid <> ", before), 1));
  }

 private:
  OwnPostgres standby_{{"fsync=off"}};
};

TEST_F(PgStandbyFaults, AStandbyThatFallsSilentCostsNoMoreThanTheDeadline) {
  const auto commit = served().Prepare("one", token(), "once");
  standby().Pause();
  EXPECT_EQ(served().Commit(commit, absl::Seconds(1)).verdict.reason, "code 4");
  EXPECT_THAT(served().Texts("one"), IsEmpty()) << "it is not where an acknowledgement would be";
  standby().GoOn();
  served().CommitAtLast(commit);
  ExpectNormal({"once"});
}

TEST_F(PgStandbyFaults, ACancelledWaitAcknowledgesNothingThatAFailoverCouldLose) {
  const auto commit = served().Prepare("one", token(), "once");
  standby().Pause();
  auto answer = served().CommitBeside(commit);
  CancelTheWait();
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  standby().GoOn();
  const Committed acknowledged = answer.get();
  EXPECT_EQ(acknowledged.verdict.reason, "OK");
  FailOver();
  Committed repeated;
  EXPECT_TRUE(WaitUntil([&] {
    repeated = served().Commit(commit);
    return repeated.verdict.reason == "OK";
  }));
  EXPECT_EQ(repeated.reply.revision(), acknowledged.reply.revision());
  ExpectNormal({"once"});
}

// Neither the standby nor the client has got the change when the primary is lost.
TEST_F(PgStandbyFaults, WhatWaitedForItsStandbyWhenThePrimaryWasLostActsOnce) {
  const auto commit = served().Prepare("one", token(), "once");
  standby().Pause();
  auto answer = served().CommitBeside(commit);
  CancelTheWait();
  standby().Kill();
  postgres().Kill();
  const Committed given_up = answer.get();
  EXPECT_EQ(given_up.verdict.reason, "STORE_UNAVAILABLE");
  EXPECT_EQ(OutcomeOf(given_up.verdict), "unknown");
  standby().Start();
  Promote();
  EXPECT_EQ(Connect(standby().dsn())
                ->Script("SELECT 1/(1 - coalesce(sum(messages), 0)) FROM holdfast.session"),
            absl::OkStatus())
      << "the standby has it already: nothing was lost";
  served().CommitAtLast(commit);
  ExpectNormal({"once"});
}

pb::GetRequestOutcomeRequest OutcomeOfCommit(const pb::CommitTurnRequest& commit) {
  pb::GetRequestOutcomeRequest ask;
  ask.set_session_id(commit.session_id());
  ask.set_request_id(commit.request_id());
  ask.set_method(pb::METHOD_COMMIT_TURN);
  ask.set_lease_token(commit.lease_token());
  return ask;
}

TEST_F(PgStandbyFaults, NeverIsSaidWhenTheTakeOverHasReachedTheStandby) {
  const auto commit = served().Prepare("one", token(), "never sent");
  const std::string next =
      served().client->Must(&Stub::ResumeSession, test::ForceRequest("one")).lease_token();
  EXPECT_EQ(served().client->Must(&Stub::GetRequestOutcome, OutcomeOfCommit(commit)).outcome(),
            pb::GetRequestOutcomeResponse::OUTCOME_NEVER);
  FailOver();
  EXPECT_TRUE(WaitUntil([&] { return served().Commit(commit).verdict.reason == "FENCED"; }));
  served().TakeTurn("one", next, "after it");
  EXPECT_EQ(served().Texts("one"), std::vector<std::string>{"after it"});
}

// The primary shows a take-over that the standby has not got. After a failover it never was, and
// the commit that it fenced may still come. Another server is asked: at the one that waits for the
// take-over the question would wait behind it.
TEST_F(PgStandbyFaults, NeverIsNotSaidOfWhatAFailoverCouldStillBringBack) {
  const auto commit = served().Prepare("one", token(), "late");
  Served other({.dsn = BothHosts()});
  other.Start();
  standby().Pause();
  auto taken = std::async(std::launch::async, [&] {
    return served().client->Reason(&Stub::ResumeSession, test::ForceRequest("one"));
  });
  CancelTheWait();
  ASSERT_EQ(served().client->Get("one").lease().epoch(), 2U);
  const auto answer =
      other.client->Ask(&Stub::GetRequestOutcome, OutcomeOfCommit(commit), absl::Seconds(2));
  EXPECT_EQ(answer.verdict.reason, "code 4");
  EXPECT_NE(answer.reply.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_NEVER);
  standby().Kill();
  postgres().Kill();
  EXPECT_NE(taken.get(), "OK");
  standby().Start();
  Promote();
  served().CommitAtLast(commit);
  ExpectNormal({"late"});
}

}  // namespace
}  // namespace holdfast::testing
