// Cancelling: cancel requests by any caller, what a holder may still do, and how the server ends a
// session or a turn that has one.
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kGrace = absl::Seconds(10);

TEST(SessionsCancel, AllowsCommitOfCancelledTurn) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  const Head before = world.Stored();
  const auto result =
      world.other().Cancel(world.caller(), world.ToCancel(CancelScope::kTurn, turn));
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->receipt.revision, before.revision);
  ASSERT_EQ(result->head.cancel_requests.size(), 1U);
  EXPECT_EQ(result->head.cancel_requests[0].turn, turn);
  // The holder reads of it in whatever it is answered.
  EXPECT_EQ(
      world.Append(turn, {{.turn = turn, .number = EntryNumber(1)}}).head.cancel_requests.size(),
      1U);
  const MutationResult committed = world.Commit(turn, {Said("in time")});
  EXPECT_EQ(committed.head.lifecycle, Lifecycle::kPersisted);
  EXPECT_TRUE(committed.head.cancel_requests.empty());
  EXPECT_EQ(world.other().EndCancelled(kGrace, 10).value_or(9), 0U);
  world.Begin();
  EXPECT_THAT(world.EventNames(),
              ElementsAre("SessionStarted", "SessionTurnStart", "SessionCancelRequested",
                          "SessionTurnEnd", "SessionPersisted", "SessionTurnStart"));
  EXPECT_THAT(world.AuditCodes(),
              ElementsAre("start", "TurnStarted", "cancel", "TurnEnded", "TurnStarted"));
}

TEST(SessionsCancel, AbandonsCancelledTurnAfterGrace) {
  World world;
  world.Create();
  world.RunTurn({Said("kept")});
  const TurnNumber turn = world.Begin();
  ASSERT_EQ(
      ReasonIn(world.other().Cancel(world.caller(), world.ToCancel(CancelScope::kTurn, turn))),
      "OK");
  world.clock().Advance(kGrace - absl::Seconds(1));
  EXPECT_EQ(world.other().EndCancelled(kGrace, 10).value_or(9), 0U);
  world.clock().Advance(absl::Seconds(1));
  EXPECT_EQ(world.other().EndCancelled(kGrace, 10).value_or(9), 1U);
  const Head head = world.Stored();
  EXPECT_EQ(head.lifecycle, Lifecycle::kPersisted);
  EXPECT_EQ(head.lease.epoch, Epoch(2));
  EXPECT_FALSE(head.lease.held);
  EXPECT_TRUE(head.cancel_requests.empty());
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), world.ToCommit(turn))), "FENCED");
  const auto names = world.EventNames();
  ASSERT_GE(names.size(), 2U);
  EXPECT_EQ(names[names.size() - 2], "SessionTurnEnd");
  EXPECT_EQ(names.back(), "SessionLeaseChanged");
  EXPECT_EQ(ReasonIn(world.sessions().Resume(world.caller(), world.ToResume())), "OK");
  EXPECT_EQ(world.other().EndCancelled(kGrace, 10).value_or(9), 0U);
}

TEST(SessionsCancel, ASessionWithoutATurnIsClosedAtOnce) {
  const std::pair<CancelReason, CloseReason> kReasons[] = {
      {CancelReason::kUser, CloseReason::kExplicit},
      {CancelReason::kParent, CloseReason::kParentCancel},
      {CancelReason::kCap, CloseReason::kHalted}};
  for (const auto& [asked, closed] : kReasons) {
    World world;
    world.Create();
    CancelCommand command = world.ToCancel(CancelScope::kSession);
    command.reason = asked;
    const auto result = world.other().Cancel(world.caller(), command);
    ASSERT_EQ(ReasonIn(result), "OK");
    EXPECT_EQ(result->receipt.revision,
              Revision(1));  // the cancel request moved nothing, the close does
    EXPECT_EQ(result->head.revision, Revision(2));
    EXPECT_EQ(result->head.lifecycle, Lifecycle::kClosed);
    EXPECT_EQ(result->head.close_reason, closed);
    EXPECT_FALSE(world.Stored().lease.held);
    EXPECT_THAT(world.EventNames(),
                ElementsAre("SessionStarted", "SessionCancelRequested", "SessionClosed"));
    EXPECT_THAT(world.AuditCodes(), ElementsAre("start", "cancel", "end"));
    EXPECT_EQ(ReasonIn(world.sessions().BeginTurn(world.caller(), world.ToBegin())),
              "LEASE_REQUIRED");
    // Repeated, it is answered as before; another one has nothing left to cancel.
    const auto again = world.sessions().Cancel(world.caller(), command);
    ASSERT_EQ(ReasonIn(again), "OK");
    EXPECT_TRUE(again->repeated);
    EXPECT_EQ(again->receipt.revision, Revision(1));
    EXPECT_EQ(ReasonIn(world.other().Cancel(world.caller(), world.ToCancel(CancelScope::kSession))),
              "ILLEGAL_TRANSITION");
    EXPECT_EQ(world.Stored().revision, Revision(2));
  }
}

TEST(SessionsCancel, ASessionIsClosedWhenItsTurnEnds) {
  for (const bool commit : {true, false}) {
    World world;
    world.Create();
    const TurnNumber turn = world.Begin();
    ASSERT_EQ(ReasonIn(world.other().Cancel(world.caller(), world.ToCancel(CancelScope::kSession))),
              "OK");
    EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kActive);
    CommitTurnCommand next = world.ToCommit(turn);
    next.begin_next = TurnSource::kUser;
    EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), next)), "ILLEGAL_TRANSITION");
    const auto result = commit
                            ? world.sessions().CommitTurn(world.caller(), world.ToCommit(turn))
                            : world.sessions().AbandonTurn(world.caller(), world.ToAbandon(turn));
    ASSERT_EQ(ReasonIn(result), "OK");
    EXPECT_EQ(result->head.lifecycle, Lifecycle::kClosed);
    EXPECT_EQ(result->head.cancel_requests.size(), 1U);  // and the holder reads why
    EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kClosed);
    EXPECT_EQ(world.Stored().committed_turns, commit ? 1U : 0U);
  }
}

TEST(SessionsCancel, TheServerClosesASessionWhoseTurnDoesNotEnd) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  CancelCommand command = world.ToCancel(CancelScope::kSession);
  command.reason = CancelReason::kParent;
  ASSERT_EQ(ReasonIn(world.other().Cancel(world.caller(), command)), "OK");
  world.clock().Advance(kGrace);
  EXPECT_EQ(world.sessions().EndCancelled(kGrace, 10).value_or(9), 1U);
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kClosed);
  EXPECT_EQ(world.Stored().close_reason, CloseReason::kParentCancel);
  EXPECT_EQ(world.Stored().lease.epoch, Epoch(2));
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), world.ToCommit(turn))), "FENCED");
  const auto resumed = world.sessions().Resume(world.caller(), world.ToResume());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_TRUE(resumed->result.head.cancel_requests.empty());
}

TEST(SessionsCancel, ACloseThatWasCutOffIsFinishedByTheSweep) {
  World world;
  world.Create();
  // The cancel request is written, and its close does not come through.
  world.store().Fail(FaultyCall::kCommit, 2);
  const auto result = world.other().Cancel(world.caller(), world.ToCancel(CancelScope::kSession));
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kIdle);
  EXPECT_EQ(ReasonIn(world.sessions().BeginTurn(world.caller(), world.ToBegin())),
            "ILLEGAL_TRANSITION");
  EXPECT_EQ(world.other().EndCancelled(kGrace, 10).value_or(9), 1U);
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kClosed);
}

TEST(SessionsCancel, KeepsRepeatedCancelRequestOnceWithOneEvent) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  CancelCommand tool = world.ToCancel(CancelScope::kTool, turn);
  tool.name = "grep";
  for (Sessions* server : {&world.sessions(), &world.other()}) {
    tool.request = world.NewRequest();
    ASSERT_EQ(ReasonIn(server->Cancel(world.caller(), tool)), "OK");
  }
  EXPECT_EQ(world.Stored().cancel_requests.size(), 1U);
  EXPECT_THAT(world.EventNames(),
              ElementsAre("SessionStarted", "SessionTurnStart", "SessionCancelRequested"));
  // It only informs.
  world.clock().Advance(10 * kGrace);
  EXPECT_EQ(world.other().EndCancelled(kGrace, 10).value_or(9), 0U);
  EXPECT_EQ(world.Commit(turn).head.lifecycle, Lifecycle::kPersisted);
}

TEST(SessionsCancel, TheHolderIsFasterThanTheSweep) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  ASSERT_EQ(
      ReasonIn(world.other().Cancel(world.caller(), world.ToCancel(CancelScope::kTurn, turn))),
      "OK");
  world.clock().Advance(kGrace);
  const auto held = world.store().Hold(FaultyCall::kCommit);
  {
    std::jthread sweep([&] { world.other().EndCancelled(kGrace, 10).IgnoreError(); });
    held->WaitUntilReached();
    world.Commit(turn, {Said("in time")});
    held->Open();
  }
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kPersisted);
  EXPECT_TRUE(world.Stored().lease.held);
  EXPECT_THAT(world.Texts(), ElementsAre("in time"));
}

TEST(SessionsCancel, AResumeOfASessionThatIsBeingCancelledFindsItClosed) {
  World world;
  world.Create();
  world.Begin();
  ASSERT_EQ(ReasonIn(world.other().Cancel(world.caller(), world.ToCancel(CancelScope::kSession))),
            "OK");
  const auto resumed = world.other().Resume(world.caller(), world.ToForce());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_EQ(resumed->result.head.lifecycle, Lifecycle::kClosed);
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kClosed);
}

}  // namespace
}  // namespace holdfast::test
