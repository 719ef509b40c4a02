// Every use case of the domain, and what each leaves behind.
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

TEST(SessionsLifecycle, CreateLeavesAnIdleSessionWithItsFirstSnapshot) {
  World world;
  CreateCommand command = world.ToCreate();
  command.mode = Mode::kYolo;
  command.messages = {Said("zero")};
  command.slots = {SlotOf("memory", "m")};
  command.attributes = {{"title", "x"}};
  command.sm = StateMachineRef{.ext_id = "planner", .slot_ref = "slot"};
  const auto result = world.sessions().Create(world.caller(), command);
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->session, world.id());
  EXPECT_TRUE(result->receipt.created);
  EXPECT_FALSE(result->receipt.token.empty());
  EXPECT_FALSE(result->repeated);
  const Head head = world.Stored();
  EXPECT_EQ(head.lifecycle, Lifecycle::kIdle);
  EXPECT_EQ(head.revision, Revision(1));
  EXPECT_EQ(head.mode, Mode::kYolo);
  EXPECT_EQ(head.lease.holder, "ada");
  EXPECT_EQ(head.snapshots.size(), 1U);
  EXPECT_TRUE(head.sm.has_value());
  EXPECT_EQ(head.attributes.at("title"), "x");
  EXPECT_THAT(world.Texts(), ElementsAre("zero"));
  EXPECT_THAT(world.EventNames(), ElementsAre("SessionStarted"));
  EXPECT_THAT(world.AuditCodes(), ElementsAre("start"));
}

TEST(SessionsLifecycle, AnIdMadeByTheServerIsMadeOfTheRequest) {
  World world;
  CreateCommand command = world.ToCreate();
  command.session.reset();
  const auto first = world.sessions().Create(world.caller(), command);
  const auto again = world.other().Create(world.caller(), command);
  ASSERT_EQ(ReasonIn(first), "OK");
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_EQ(first->session, again->session);
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(first->session.value().at(14), '8');  // a UUIDv8
  const Caller stranger{.tenant = *TenantId::Parse("other")};
  const auto other = world.sessions().Create(stranger, command);
  ASSERT_EQ(ReasonIn(other), "OK");
  EXPECT_NE(other->session, first->session);
}

TEST(SessionsLifecycle, GetAndLatest) {
  World world;
  EXPECT_EQ(ReasonIn(world.sessions().Get(world.caller(), world.id())), "SESSION_NOT_FOUND");
  const auto none = world.sessions().Latest(world.caller(), "/p");
  EXPECT_EQ(ReasonIn(none), "NO_SNAPSHOT");
  EXPECT_EQ(FactIn(none.status(), "project_root"), "/p");
  world.Create();
  world.clock().Advance(absl::Seconds(1));
  CreateCommand newer = world.ToCreate();
  newer.session = *SessionId::Parse("aardvark");
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), newer)), "OK");
  CreateCommand elsewhere = world.ToCreate();
  elsewhere.session = *SessionId::Parse("zebra");
  elsewhere.project_root = "/q";
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), elsewhere)), "OK");
  const auto latest = world.sessions().Latest(world.caller(), "/p");
  ASSERT_EQ(ReasonIn(latest), "OK");
  EXPECT_EQ(latest->first.value(), "aardvark");
  EXPECT_EQ(latest->second.lease.state, LeaseState::kLive);
}

TEST(SessionsLifecycle, UpdateNeedsNoLeaseAndMovesNoRevision) {
  World world;
  world.Create();
  const auto result = world.other().Update(world.caller(), world.ToUpdate("x"));
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->receipt.revision, Revision(1));
  EXPECT_EQ(world.Stored().attributes.at("title"), "x");
}

TEST(SessionsLifecycle, ATurnFromBeginToCommit) {
  World world;
  world.Create();
  const auto begun = world.sessions().BeginTurn(world.caller(), world.ToBegin());
  ASSERT_EQ(ReasonIn(begun), "OK");
  EXPECT_EQ(begun->result.receipt.turn, TurnNumber(1));
  EXPECT_EQ(world.Stored().turn->trace, world.caller().trace);
  EXPECT_EQ(world.Stored().turn->parent_span_id, world.caller().span_id);
  world.Append(TurnNumber(1), {{.turn = TurnNumber(1),
                                .number = EntryNumber(1),
                                .kind = JournalKind::kSlotUpdate,
                                .slot = SlotOf("memory", "m")}});
  CommitTurnCommand command = world.ToCommit(TurnNumber(1));
  command.messages = {Said("ask"), Said("answer")};
  command.last_entry = EntryNumber(1);
  const auto result = world.sessions().CommitTurn(world.caller(), command);
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->receipt.last_entry, EntryNumber(1));
  EXPECT_EQ(result->receipt.messages, MessageSeq(2));
  EXPECT_EQ(result->head.lifecycle, Lifecycle::kPersisted);
  EXPECT_EQ(result->head.last_committed_request, command.request);
  EXPECT_THAT(world.EventNames(), ElementsAre("SessionStarted", "SessionTurnStart",
                                              "SessionTurnEnd", "SessionPersisted"));
  EXPECT_THAT(world.AuditCodes(), ElementsAre("start", "TurnStarted", "TurnEnded"));
}

TEST(SessionsLifecycle, ACommitMayBeginTheNextTurn) {
  World world;
  world.Create();
  CommitTurnCommand command = world.ToCommit(world.Begin());
  command.begin_next = TurnSource::kStateMachine;
  const auto result = world.sessions().CommitTurn(world.caller(), command);
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->receipt.turn, TurnNumber(2));
  EXPECT_EQ(result->receipt.revision, Revision(3));
  EXPECT_EQ(result->head.lifecycle, Lifecycle::kActive);
  EXPECT_THAT(world.EventNames(),
              ElementsAre("SessionStarted", "SessionTurnStart", "SessionTurnEnd",
                          "SessionPersisted", "SessionTurnStart"));
  world.Commit(TurnNumber(2));
}

TEST(SessionsLifecycle, AnAbandonedTurnLeadsBackToIdleOrPersisted) {
  World world;
  world.Create();
  const auto first = world.sessions().AbandonTurn(world.caller(), world.ToAbandon(world.Begin()));
  ASSERT_EQ(ReasonIn(first), "OK");
  EXPECT_EQ(first->head.lifecycle, Lifecycle::kIdle);
  EXPECT_EQ(first->receipt.abandoned_turn, TurnNumber(1));
  world.RunTurn({Said("kept")});
  const auto second = world.sessions().AbandonTurn(world.caller(), world.ToAbandon(world.Begin()));
  ASSERT_EQ(ReasonIn(second), "OK");
  EXPECT_EQ(second->head.lifecycle, Lifecycle::kPersisted);
  EXPECT_THAT(world.Texts(), ElementsAre("kept"));
}

TEST(SessionsLifecycle, CloseEndsTheLeaseAndClosesOnce) {
  World world;
  world.Create();
  world.RunTurn();
  const auto result = world.sessions().Close(world.caller(), world.ToClose());
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->head.lifecycle, Lifecycle::kClosed);
  EXPECT_EQ(result->head.close_reason, CloseReason::kExplicit);
  const Head closed = world.Stored();
  // Again, by any caller, with or without the token: nothing is written.
  CloseCommand again = world.ToClose();
  EXPECT_EQ(ReasonIn(world.sessions().Close(world.caller(), again)), "OK");
  again = world.ToClose();
  again.token.reset();
  EXPECT_EQ(ReasonIn(world.other().Close(world.caller(), again)), "OK");
  EXPECT_EQ(world.Stored().revision, closed.revision);
  EXPECT_EQ(world.Stored().last_event, closed.last_event);
}

TEST(SessionsLifecycle, CloseAbandonsTheActiveTurn) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  const auto result = world.sessions().Close(world.caller(), world.ToClose());
  ASSERT_EQ(ReasonIn(result), "OK");
  EXPECT_EQ(result->receipt.abandoned_turn, turn);
  EXPECT_THAT(world.EventNames(),
              ElementsAre("SessionStarted", "SessionTurnStart", "SessionTurnEnd", "SessionClosed"));
}

TEST(SessionsLifecycle, CloseMayWriteAFinalSnapshotButNotDuringATurn) {
  World world;
  world.Create();
  CloseCommand command = world.ToClose();
  command.final_snapshot = SnapshotContent{.messages = {Said("bye")}};
  const TurnNumber turn = world.Begin();
  EXPECT_EQ(ReasonIn(world.sessions().Close(world.caller(), command)), "CONCURRENT_TURN");
  world.Commit(turn);
  ASSERT_EQ(ReasonIn(world.sessions().Close(world.caller(), command)), "OK");
  EXPECT_THAT(world.Texts(), ElementsAre("bye"));
  CloseCommand without = command;
  without.request = world.NewRequest();
  without.token.reset();
  EXPECT_EQ(ReasonIn(world.sessions().Close(world.caller(), without)), "LEASE_REQUIRED");
}

TEST(SessionsLifecycle, CloseNeedsTheTokenWhileTheLeaseIsLive) {
  World world;
  world.Create();
  CloseCommand stranger = world.ToClose();
  stranger.token.reset();
  EXPECT_EQ(ReasonIn(world.other().Close(world.caller(), stranger)), "LEASE_HELD");
  world.LetLeaseExpire();
  EXPECT_EQ(ReasonIn(world.other().Close(world.caller(), stranger)), "OK");
}

TEST(SessionsLifecycle, DeleteIsForEverAndAnswersAgain) {
  World world;
  world.Create();
  DeleteCommand stranger = world.ToDelete();
  stranger.token.reset();
  EXPECT_EQ(ReasonIn(world.other().Delete(world.caller(), stranger)), "LEASE_HELD");
  const DeleteCommand command = world.ToDelete();
  EXPECT_EQ(ReasonIn(world.sessions().Delete(world.caller(), command)), "OK");
  const auto same = world.sessions().Delete(world.caller(), command);
  ASSERT_EQ(ReasonIn(same), "OK");
  EXPECT_TRUE(same->repeated);
  EXPECT_EQ(ReasonIn(world.other().Delete(world.caller(), world.ToDelete())), "OK");
  EXPECT_EQ(ReasonIn(world.sessions().BeginTurn(world.caller(), world.ToBegin())), "TOMBSTONED");
  EXPECT_EQ(ReasonIn(world.sessions().Resume(world.caller(), world.ToForce())), "TOMBSTONED");
  EXPECT_EQ(ReasonIn(world.sessions().Create(world.caller(), world.ToCreate())), "TOMBSTONED");
  EXPECT_EQ(ReasonIn(world.sessions().Get(world.caller(), world.id())), "TOMBSTONED");
}

TEST(SessionsLifecycle, ReleaseGivesTheLeaseBack) {
  World world;
  world.Create();
  ASSERT_EQ(ReasonIn(world.sessions().Release(world.caller(), world.ToRelease())), "OK");
  EXPECT_EQ(ReasonIn(world.sessions().BeginTurn(world.caller(), world.ToBegin())),
            "LEASE_REQUIRED");
  EXPECT_EQ(ReasonIn(world.sessions().Release(world.caller(), world.ToRelease())),
            "LEASE_REQUIRED");
  const auto resumed = world.other().Resume(world.caller(), world.ToResume());
  ASSERT_EQ(ReasonIn(resumed), "OK");
  EXPECT_EQ(resumed->result.receipt.epoch, Epoch(2));
}

TEST(SessionsLifecycle, RecoveryClosesSessionWhenAbandoned) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  world.clock().Advance(absl::Seconds(299));
  auto closed = world.other().RecoverDue(absl::Seconds(300), 10);
  ASSERT_EQ(ReasonIn(closed), "OK");
  EXPECT_EQ(*closed, 0U);
  world.clock().Advance(absl::Seconds(1));
  closed = world.other().RecoverDue(absl::Seconds(300), 10);
  ASSERT_EQ(ReasonIn(closed), "OK");
  EXPECT_EQ(*closed, 1U);
  const Head head = world.Stored();
  EXPECT_EQ(head.lifecycle, Lifecycle::kClosed);
  EXPECT_EQ(head.close_reason, CloseReason::kCrash);
  EXPECT_EQ(head.lease.epoch, Epoch(2));
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), world.ToCommit(turn))), "FENCED");
  closed = world.other().RecoverDue(absl::Seconds(300), 10);
  EXPECT_EQ(closed.value_or(9), 0U);
}

TEST(SessionsLifecycle, RecoveryLosesItsRaceWithTheHolderHarmlessly) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  world.clock().Advance(absl::Seconds(301));
  // The holder commits between the sweep's load and its commit.
  const auto held = world.store().Hold(FaultyCall::kCommit);
  absl::StatusOr<size_t> closed = 9;
  {
    std::jthread sweep([&] { closed = world.other().RecoverDue(absl::Seconds(300), 10); });
    held->WaitUntilReached();
    world.Commit(turn, {Said("in time")});
    held->Open();
  }
  ASSERT_EQ(ReasonIn(closed), "OK");
  EXPECT_EQ(*closed, 0U);
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kPersisted);
}

TEST(SessionsLifecycle, RenewGoesThrough) {
  World world;
  world.Create();
  world.clock().Advance(absl::Seconds(59));
  const auto renewed =
      world.sessions().Renew({{.key = world.key(), .token = world.token(), .ttl = std::nullopt}});
  ASSERT_EQ(renewed.size(), 1U);
  ASSERT_EQ(ReasonIn(renewed[0]), "OK");
  EXPECT_EQ(renewed[0]->expires_in, absl::Seconds(60));
}

}  // namespace
}  // namespace holdfast::test
