// Tests carried over from the source systems, as far as a store can answer them
// (docs/conformance.md): the state machine, turns, flows, ordering, and the gaps that the sources
// are known to have.
#include "tests/contract/suite.h"

#include <algorithm>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

TEST_P(Contract, A6_StateMachine_FullWalk) {
  Create();
  std::vector<Lifecycle> walk = {LoadHead().lifecycle};
  const auto step = [&] { walk.push_back(LoadHead().lifecycle); };
  TurnNumber turn = Begin();
  step();
  CommitTurn(turn);
  step();
  turn = Begin();
  step();
  Apply(changes().Abandon(token(), turn));
  step();
  TakeOver();
  step();
  turn = Begin();
  step();
  CommitTurn(turn);
  step();
  Apply(changes().Close(token()));
  step();
  EXPECT_THAT(walk, ElementsAre(Lifecycle::kIdle, Lifecycle::kActive, Lifecycle::kPersisted,
                                Lifecycle::kActive, Lifecycle::kPersisted, Lifecycle::kResumed,
                                Lifecycle::kActive, Lifecycle::kPersisted, Lifecycle::kClosed));
}

TEST_P(Contract, A6_StateMachine_IllegalTriggersKeepTheState) {
  Create();
  const std::string idle = Picture();
  EXPECT_EQ(ReasonIn(store().Commit(changes().CommitTurn(token(), TurnNumber(1)))),
            "ILLEGAL_TRANSITION");
  EXPECT_EQ(ReasonIn(store().Commit(changes().Abandon(token(), TurnNumber(1)))),
            "ILLEGAL_TRANSITION");
  EXPECT_EQ(Picture(), idle);
  Apply(changes().Close(token()));
  const std::string closed = Picture();
  Change begin = changes().Begin(token());
  begin.guard.lease = LeaseRule::kNone;
  EXPECT_EQ(ReasonIn(store().Commit(begin)), "ILLEGAL_TRANSITION");
  Change write = changes().Write(token());
  write.guard.lease = LeaseRule::kNone;
  EXPECT_EQ(ReasonIn(store().Commit(write)), "ILLEGAL_TRANSITION");
  EXPECT_EQ(Picture(), closed);
}

TEST_P(Contract, A6_StateMachine_CreationAloneHasNoTurnEvent) {
  Create();
  EXPECT_THAT(EventNames(), ElementsAre("SessionStarted"));
}

TEST_P(Contract, A6_Flow_TwoLaunchesKeepTheMessagesInOrder) {
  Create();
  RunTurn({Text("ask one"), Text("answer one")});
  Reopen();
  TakeOver();
  RunTurn({Text("ask two"), Text("answer two")});
  Reopen();
  EXPECT_THAT(MessageTexts(), ElementsAre("ask one", "answer one", "ask two", "answer two"));
}

TEST_P(Contract, A6_Cli_GoingOnKeepsTheId) {
  Create();
  const SessionUid uid = LoadHead().uid;
  RunTurn({Text("one")});
  Reopen();
  TakeOver();
  RunTurn({Text("two")});
  EXPECT_THAT(Ids(), ElementsAre("alpha"));
  EXPECT_EQ(LoadHead().uid, uid);
  EXPECT_EQ(LoadHead().committed_turns, 2U);
}

TEST_P(Contract, A6_Cli_ASessionWithoutATurnIsThere) {
  Create();
  Apply(changes().Close(token()));
  Reopen();
  EXPECT_EQ(LoadHead().lifecycle, Lifecycle::kClosed);
  EXPECT_EQ(LoadHead().messages, MessageSeq());
  TakeOver();
}

TEST_P(Contract, A6_Slots_AnAbsentSlotIsNone) {
  Create();
  EXPECT_EQ(SlotData("planner"), std::nullopt);
  RunTurn({}, {MakeSlot("planner", "null")});
  EXPECT_EQ(SlotData("planner"), "null");
}

TEST_P(Contract, A6_Slots_ReportsStoredVersionAndPolicy) {
  Create();
  Slot slot = MakeSlot("planner", "{}", "1.4.2");
  slot.policy = DriftPolicy::kReject;
  RunTurn({}, {slot});
  slot.version = "2.0.0";
  slot.policy = DriftPolicy::kMigrate;
  const Revision old = LoadHead().revision;
  RunTurn({}, {slot});
  const auto now = Slots({.owners = {"planner"}});
  ASSERT_EQ(now.size(), 1U);
  EXPECT_EQ(now[0].slot.version, "2.0.0");
  EXPECT_EQ(now[0].slot.policy, DriftPolicy::kMigrate);
  const auto then = Slots({.revision = old, .owners = {"planner"}});
  ASSERT_EQ(then.size(), 1U);
  EXPECT_EQ(then[0].slot.version, "1.4.2");
  EXPECT_EQ(then[0].slot.policy, DriftPolicy::kReject);
}

TEST_P(Contract, A6_Turns_OneAtATimeInOrder) {
  Create();
  for (uint64_t number = 1; number <= 3; ++number) {
    const TurnNumber turn = Begin();
    EXPECT_EQ(turn, TurnNumber(number));
    EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(token()))), "CONCURRENT_TURN");
    CommitTurn(turn, {Text(std::to_string(number))});
  }
  EXPECT_THAT(MessageTexts(), ElementsAre("1", "2", "3"));
}

TEST_P(Contract, A6_Turns_AFailedTurnDoesNotBlockTheNext) {
  Create();
  const TurnNumber failed = Begin();
  Append(failed, {Note(failed, 1, "the user's question")});
  Apply(changes().Abandon(token(), failed));
  RunTurn({Text("the next question")});
  EXPECT_EQ(LoadHead().lifecycle, Lifecycle::kPersisted);
  EXPECT_EQ(LoadHead().committed_turns, 1U);
}

TEST_P(Contract, A6_Gaps_WhatAFailedTurnSaidIsNotPersistedByTheNext) {
  Create();
  const TurnNumber failed = Begin();
  Append(failed, {SlotUpdate(failed, 1, MakeSlot("memory", "lost"))});
  Apply(changes().Abandon(token(), failed));
  const TurnNumber next = Begin();
  Append(next, {SlotUpdate(next, 1, MakeSlot("planner", "kept"))});
  CommitTurn(next, {Text("the next question")});
  Reopen();
  EXPECT_THAT(MessageTexts(), ElementsAre("the next question"));
  EXPECT_EQ(SlotData("memory"), std::nullopt);
  EXPECT_EQ(SlotData("planner"), "kept");
}

TEST_P(Contract, A6_Ordering_NumbersGrowWhenClockStopsOrGoesBack) {
  Create();
  RunTurn();
  clock().JumpWall(-absl::Hours(3));
  RunTurn();
  const auto events = Events();
  ASSERT_EQ(events.size(), 7U);
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i].seq, events[i - 1].seq.Next());
    EXPECT_GE(events[i].revision, events[i - 1].revision);
  }
  EXPECT_LT(events.back().time, events.front().time);
  EXPECT_EQ(LoadHead().revision, Revision(5));
}

TEST_P(Contract, A6_Ordering_EventsFollowTheChangesThatMadeThem) {
  Create();
  RunTurn();
  TakeOver();
  Apply(changes().Close(token()));
  std::vector<uint64_t> revisions;
  for (const Event& event : Events()) revisions.push_back(event.revision.value());
  EXPECT_THAT(revisions, ElementsAre(1, 2, 3, 3, 4, 4, 5));
}

TEST_P(Contract, A6_Invariants_EveryWriteAndResumeIsAudited) {
  Create();
  RunTurn();
  TakeOver();
  Apply(changes().Write(token()));
  Apply(changes().Release(token()));
  Apply(changes().Resume());
  std::vector<std::string> codes;
  for (const AuditRecord& record : Audit()) codes.push_back(record.code);
  EXPECT_THAT(codes, ElementsAre("create", "turn-begin", "persist", "resume", "persist", "release",
                                 "resume"));
}

TEST_P(Contract, A6_Invariants_NothingExpiresByItself) {
  Create();
  RunTurn({Text("one")}, {MakeSlot("memory", "a")});
  const std::string before = Picture();
  clock().Advance(absl::Hours(24 * 365 * 3));
  EXPECT_EQ(Picture(), before);
  Reopen();
  EXPECT_EQ(Picture(), before);
  EXPECT_THAT(Ids(), ElementsAre("alpha"));
}

TEST_P(Contract, A6_Gaps_IdsThatLookAlikeAreDifferentSessions) {
  const std::vector<std::string> names = {
      "b", "B", "a.b", "a_b", "a-b", "..b", "b.", "-b", std::string(128, 'b')};
  for (const std::string& name : names) {
    Change create = Changes(Key(name), random()).Create();
    create.messages = {Text(name)};
    Apply(create);
  }
  Reopen();
  for (const std::string& name : names) {
    const auto page = store().ReadMessages(Key(name), std::nullopt, MessageSeq(), kWholePage);
    ASSERT_EQ(ReasonIn(page), "OK") << name;
    ASSERT_EQ(page->messages.size(), 1U) << name;
    EXPECT_EQ(page->messages[0].data, name);
  }
  EXPECT_THAT(Ids(), ::testing::UnorderedElementsAreArray(names));
}

TEST_P(Contract, A6_Gaps_TheLatestIsOfItsOwnProject) {
  Create();
  clock().Advance(absl::Seconds(1));
  Apply(Changes(Key("beta"), random()).Create());
  clock().Advance(absl::Seconds(1));
  Change other = Changes(Key("gamma"), random()).Create();
  other.create->project_root = "/projects/other";
  Apply(other);
  const auto page = store().List(
      {.tenant = key().tenant, .project_root = "/projects/engine", .descending = true, .limit = 1});
  ASSERT_EQ(ReasonIn(page), "OK");
  ASSERT_EQ(page->rows.size(), 1U);
  EXPECT_EQ(page->rows[0].id.value(), "beta");
}

TEST_P(Contract, A6_Gaps_TheNewestIsFoundBesideAForeignOne) {
  Create();
  under_test().Close();
  under_test().PlantForeign(Key("zeta"));
  under_test().Open();
  const auto page = store().List({.tenant = key().tenant, .descending = true, .limit = 1});
  ASSERT_EQ(ReasonIn(page), "OK");
  ASSERT_EQ(page->rows.size(), 1U);
  EXPECT_EQ(page->rows[0].id.value(), "alpha");
  EXPECT_FALSE(page->end);
}

}  // namespace
}  // namespace holdfast::test
