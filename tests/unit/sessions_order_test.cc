// The order of checks as a client sees it, and a cache that may admit a command and never refuses
// one.
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

TEST(SessionsOrder, AStoredReplyWinsOverEverythingBelow) {
  World world;
  world.Create();
  CommitTurnCommand command = world.ToCommit(world.Begin());
  ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), command)), "OK");
  world.TakeOver();
  // By now its token is fenced, its turn stale and its state wrong.
  for (Sessions* server : {&world.sessions(), &world.other()}) {
    const auto again = server->CommitTurn(world.caller(), command);
    ASSERT_EQ(ReasonIn(again), "OK");
    EXPECT_TRUE(again->repeated);
  }
  command.request = world.NewRequest();
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), command)), "FENCED");
}

TEST(SessionsOrder, ATombstoneWinsOverAStoredReply) {
  World world;
  world.Create();
  const UpdateCommand command = world.ToUpdate("x");
  ASSERT_EQ(ReasonIn(world.sessions().Update(world.caller(), command)), "OK");
  ASSERT_EQ(ReasonIn(world.sessions().Delete(world.caller(), world.ToDelete())), "OK");
  for (Sessions* server : {&world.sessions(), &world.other()}) {
    EXPECT_EQ(ReasonIn(server->Update(world.caller(), command)), "TOMBSTONED");
  }
}

TEST(SessionsOrder, ACommandThatLosesEveryRaceIsGivenUp) {
  World world;
  world.Create();
  const ResumeCommand command = world.ToForce();
  int races = 0;
  bool racing = false;
  world.store().InjectFault(world.key(), [&] {
    if (racing) return absl::OkStatus();
    racing = true;
    EXPECT_EQ(ReasonIn(world.other().Resume(world.caller(), world.ToForce())), "OK");
    racing = false;
    ++races;
    return absl::OkStatus();
  });
  const auto lost = world.sessions().Resume(world.caller(), command);
  world.store().InjectFault(world.key(), [] { return absl::OkStatus(); });
  EXPECT_EQ(ReasonIn(lost), "STORE_UNAVAILABLE");
  EXPECT_GE(races, kRaceRetries);
  EXPECT_LE(races, kRaceRetries + 1) << "one more may be that of the load";
  EXPECT_EQ(ReasonIn(world.sessions().Resume(world.caller(), command)), "OK");
}

TEST(SessionsOrder, FromStoreToRevision) {
  World world;
  world.Create();
  world.RunTurn();
  CommitTurnCommand command = world.ToCommit(TurnNumber(9));
  command.token->store = *StoreId::Parse("00000000-0000-4000-8000-000000000000");
  command.token->secret = "another secret!!";
  command.expected_revision = Revision(99);
  const auto reason = [&] {
    return ReasonIn(world.sessions().CommitTurn(world.caller(), command));
  };
  EXPECT_EQ(reason(), "RESUME_MISMATCH");
  command.token->store = world.token().store;
  EXPECT_EQ(reason(), "REVISION_AHEAD");
  command.expected_revision = Revision(2);
  EXPECT_EQ(reason(), "FENCED");
  command.token = world.token();
  EXPECT_EQ(reason(), "ILLEGAL_TRANSITION");
  world.Begin();
  EXPECT_EQ(reason(), "STALE_TURN");
  command.turn = TurnNumber(2);
  EXPECT_EQ(reason(), "STALE_REVISION");
  command.expected_revision = Revision(4);
  EXPECT_EQ(reason(), "OK");
}

TEST(SessionsOrder, ABadFieldIsRefusedBeforeAnythingIsLoaded) {
  World world;
  CommitTurnCommand command = world.ToCommit(TurnNumber());
  const int before = world.store().Calls(FaultyCall::kAny);
  const auto refused = world.sessions().CommitTurn(world.caller(), command);
  EXPECT_EQ(ReasonIn(refused), "INVALID_FIELD");
  EXPECT_EQ(FactIn(refused.status(), "field"), "turn");
  EXPECT_EQ(world.store().Calls(FaultyCall::kAny), before);
}

TEST(SessionsCache, AKnownHeadSavesTheLoad) {
  World world;
  world.Create();
  const int loads = world.store().Calls(FaultyCall::kLoad);
  const TurnNumber turn = world.Begin();
  EXPECT_EQ(ReasonIn(world.sessions().AppendJournal(world.caller(), world.ToAppend(turn, 1, 1))),
            "OK");
  world.Commit(turn);
  EXPECT_EQ(world.store().Calls(FaultyCall::kLoad), loads);
}

TEST(SessionsCache, AnOldHeadNeverRefuses) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  // The other server's cached head has an active turn that the store has ended.
  ASSERT_EQ(ReasonIn(world.other().Update(world.caller(), world.ToUpdate("x"))), "OK");
  world.Commit(turn);
  EXPECT_EQ(ReasonIn(world.other().BeginTurn(world.caller(), world.ToBegin())), "OK");
}

TEST(SessionsCache, AnOldHeadNeverFencesTheNewHolder) {
  World world;
  world.Create();
  ASSERT_EQ(ReasonIn(world.other().Update(world.caller(), world.ToUpdate("x"))), "OK");
  world.TakeOver();  // epoch 2, which the other server has not seen
  EXPECT_EQ(ReasonIn(world.other().BeginTurn(world.caller(), world.ToBegin())), "OK");
}

TEST(SessionsCache, AnOldHeadNeverHoldsALeaseThatHasExpired) {
  World world;
  world.Create();  // both servers see it live
  ASSERT_EQ(ReasonIn(world.other().Update(world.caller(), world.ToUpdate("x"))), "OK");
  world.LetLeaseExpire();
  EXPECT_EQ(ReasonIn(world.other().Resume(world.caller(), world.ToResume())), "OK");
}

TEST(SessionsCache, AnOldHeadNeverLetsAStrangerThrough) {
  World world;
  world.Create();
  world.LetLeaseExpire();
  // The other server sees the lease expired; then its holder renews.
  ASSERT_EQ(ReasonIn(world.other().Update(world.caller(), world.ToUpdate("x"))), "OK");
  world.sessions().Renew({{.key = world.key(), .token = world.token()}}).clear();
  EXPECT_EQ(ReasonIn(world.other().Resume(world.caller(), world.ToResume())), "LEASE_HELD");
}

TEST(SessionsCache, ARenewalBeforeACommitDecidedOnAnOldHeadDoesNotMatter) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  world.clock().Advance(absl::Seconds(30));
  world.other().Renew({{.key = world.key(), .token = world.token()}}).clear();
  world.Commit(turn, {Said("one")});
}

TEST(SessionsCache, ATakeOverBetweenLoadAndCommitFencesTheCommit) {
  World world;
  world.Create();
  const CommitTurnCommand command = world.ToCommit(world.Begin());
  ASSERT_EQ(ReasonIn(world.other().Resume(world.caller(), world.ToForce())), "OK");
  const auto refused = world.sessions().CommitTurn(world.caller(), command);
  EXPECT_EQ(ReasonIn(refused), "FENCED");
  EXPECT_EQ(FactIn(refused.status(), "current_epoch"), "2");
  EXPECT_TRUE(world.Texts().empty());
}

TEST(SessionsCache, ADecisionOnAnOldHeadIsMadeAgain) {
  World world;
  world.Create();
  // This server knows an IDLE session; the other one commits a turn, so that an abandoned turn now
  // leads to PERSISTED.
  const auto begun = world.other().BeginTurn(world.caller(), world.ToBegin());
  ASSERT_EQ(ReasonIn(begun), "OK");
  ASSERT_EQ(ReasonIn(world.other().CommitTurn(world.caller(),
                                              world.ToCommit(begun->result.receipt.turn))),
            "OK");
  const auto next = world.other().BeginTurn(world.caller(), world.ToBegin());
  ASSERT_EQ(ReasonIn(next), "OK");
  const auto result =
      world.sessions().AbandonTurn(world.caller(), world.ToAbandon(next->result.receipt.turn));
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->head.lifecycle, Lifecycle::kPersisted);
}

TEST(SessionsCache, AResumeDecidedOnAnOldHeadStillAbandonsTheTurn) {
  World world;
  world.Create();
  ASSERT_EQ(ReasonIn(world.other().Update(world.caller(), world.ToUpdate("x"))), "OK");
  const TurnNumber turn = world.Begin();
  const auto resumed = world.other().Resume(world.caller(), world.ToForce());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_EQ(resumed->report.abandoned_turn, turn);
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kResumed);
}

TEST(SessionsCache, WhatWasKnownBeforeAFailureBeginsNoSecondTurn) {
  World world;
  world.Create();
  world.store().LoseReply(FaultyCall::kCommit);
  EXPECT_EQ(ReasonIn(world.sessions().BeginTurn(world.caller(), world.ToBegin())),
            "STORE_UNAVAILABLE");
  // The turn had begun: decided on the head of before it would be begun twice.
  EXPECT_EQ(ReasonIn(world.sessions().BeginTurn(world.caller(), world.ToBegin())),
            "CONCURRENT_TURN");
}

// A failover loses what was acknowledged by the old primary alone. What this server knew is then
// later than what is stored, and every decision on it is made a second time.
TEST(SessionsOrder, ReplacesACachedHeadThatTheStoreHasLost) {
  World world;
  world.Create();
  const ReferenceDisk kept = world.disk();
  for (int i = 0; i < 5; ++i) world.RunTurn();
  world.Begin();
  world.disk() = kept;
  TurnNumber turn = world.Begin();  // finds that the store has lost revisions
  const int loads = world.store().Calls(FaultyCall::kLoad);
  const int commits = world.store().Calls(FaultyCall::kCommit);
  world.Commit(turn);
  turn = world.Begin();
  world.Commit(turn);
  EXPECT_EQ(world.store().Calls(FaultyCall::kCommit) - commits, 3);
  EXPECT_EQ(world.store().Calls(FaultyCall::kLoad) - loads, 0);
}

}  // namespace
}  // namespace holdfast::test
