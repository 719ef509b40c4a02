// A snapshot inside a turn, and a close that gave the turn time.
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

TEST(SessionsKeepOpen, KeepsTurnOpenWithoutEndEvent) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  CommitTurnCommand keep = world.ToCommit(turn);
  keep.keep_open = true;
  keep.messages = {Said("so far")};
  const auto kept = world.sessions().CommitTurn(world.caller(), keep);
  ASSERT_EQ(ReasonIn(kept), "OK");
  EXPECT_EQ(kept->receipt.revision, Revision(3));
  EXPECT_EQ(kept->head.lifecycle, Lifecycle::kActive);
  const auto again = world.other().CommitTurn(world.caller(), keep);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_TRUE(again->repeated);
  CommitTurnCommand other = keep;
  other.keep_open = false;
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), other)), "REQUEST_ID_REUSED");
  world.Commit(turn, {Said("the end")});
  EXPECT_THAT(world.Texts(), ElementsAre("so far", "the end"));
  EXPECT_THAT(world.EventNames(),
              ElementsAre("SessionStarted", "SessionTurnStart", "SessionPersisted",
                          "SessionTurnEnd", "SessionPersisted"));
  EXPECT_THAT(world.AuditCodes(), ElementsAre("start", "TurnStarted", "save", "TurnEnded"));
}

TEST(SessionsKeepOpen, ATurnThatIsAbandonedLeavesWhatItKept) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  CommitTurnCommand keep = world.ToCommit(turn);
  keep.keep_open = true;
  keep.messages = {Said("kept")};
  ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), keep)), "OK");
  const auto result = world.sessions().AbandonTurn(world.caller(), world.ToAbandon(turn));
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->head.lifecycle, Lifecycle::kPersisted);
  EXPECT_THAT(world.Texts(), ElementsAre("kept"));
  const TurnNumber next = world.Begin();
  ASSERT_EQ(ReasonIn(world.sessions().AbandonTurn(world.caller(), world.ToAbandon(next))), "OK");
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kPersisted);
}

TEST(SessionsKeepOpen, DoesNotGoWithWhatEndsTheTurn) {
  World world;
  world.Create();
  CommitTurnCommand keep = world.ToCommit(world.Begin());
  keep.keep_open = true;
  keep.begin_next = TurnSource::kUser;
  auto refused = world.sessions().CommitTurn(world.caller(), keep);
  EXPECT_EQ(ReasonIn(refused), "INVALID_FIELD");
  EXPECT_EQ(FactIn(refused.status(), "field"), "keep_open");
  keep.begin_next.reset();
  keep.outcome = TurnOutcome::kError;
  refused = world.sessions().CommitTurn(world.caller(), keep);
  EXPECT_EQ(FactIn(refused.status(), "field"), "outcome");
}

TEST(SessionsKeepOpen, IsAllowedUnderACancel) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  ASSERT_EQ(ReasonIn(world.other().Cancel(world.caller(), world.ToCancel(CancelScope::kSession))),
            "OK");
  CommitTurnCommand keep = world.ToCommit(turn);
  keep.keep_open = true;
  const auto kept = world.sessions().CommitTurn(world.caller(), keep);
  ASSERT_EQ(ReasonIn(kept), "OK");
  EXPECT_EQ(kept->head.lifecycle, Lifecycle::kActive);
  EXPECT_EQ(kept->head.cancel_requests.size(), 1U);
}

TEST(SessionsDrain, SaysWhetherThereIsSomethingToWaitFor) {
  World world;
  world.Create();
  CloseCommand close = world.ToClose();
  close.drain = absl::Seconds(5);
  auto draining = world.sessions().Drain(world.caller(), close);
  ASSERT_EQ(ReasonIn(draining), "OK");
  EXPECT_FALSE(draining->active);
  const TurnNumber turn = world.Begin();
  draining = world.sessions().Drain(world.caller(), close);
  ASSERT_EQ(ReasonIn(draining), "OK");
  EXPECT_TRUE(draining->active);
  CloseCommand stranger = close;
  stranger.token.reset();
  EXPECT_EQ(ReasonIn(world.sessions().Drain(world.caller(), stranger)), "LEASE_HELD");
  CloseCommand wrong = close;
  wrong.drain = absl::Seconds(31);
  EXPECT_EQ(FactIn(world.sessions().Drain(world.caller(), wrong).status(), "field"), "drain");
  wrong = close;
  wrong.expected_revision = Revision(2);
  EXPECT_EQ(FactIn(world.sessions().Drain(world.caller(), wrong).status(), "field"),
            "expected_revision");
  // The time is over: the turn is abandoned, and the final snapshot is written all the same.
  close.final_snapshot = SnapshotContent{.messages = {Said("bye")}};
  const auto closed = world.sessions().Close(world.caller(), close);
  ASSERT_EQ(ReasonIn(closed), "OK");
  EXPECT_EQ(closed->receipt.abandoned_turn, turn);
  EXPECT_THAT(world.Texts(), ElementsAre("bye"));
  EXPECT_FALSE(world.sessions().Drain(world.caller(), close)->active);
}

TEST(SessionsDrain, NotifiesOfEachTurnAndLeaseThatEnds) {
  World world;
  std::vector<std::string> ended;
  world.sessions().OnTurnOrLeaseEnd(
      [&](const SessionKey& key) { ended.push_back(key.session.value()); });
  world.Create();
  world.Commit(world.Begin());
  EXPECT_THAT(ended, ElementsAre("alpha"));
  const TurnNumber turn = world.Begin();
  ASSERT_EQ(ReasonIn(world.sessions().AbandonTurn(world.caller(), world.ToAbandon(turn))), "OK");
  EXPECT_THAT(ended, ElementsAre("alpha", "alpha"));
}

}  // namespace
}  // namespace holdfast::test
