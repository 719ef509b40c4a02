// Slots: applying, deleting, and reading them as they were.
#include "session/snapshot_description.h"
#include "tests/contract/suite.h"

#include "absl/strings/str_cat.h"

#include <utility>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Owners(const std::vector<SlotView>& slots) {
  std::vector<std::string> owners;
  for (const SlotView& view : slots) owners.push_back(view.slot.owner);
  return owners;
}

TEST_P(Contract, C035_AppliesSlotUpdatesOfTurnInOrder) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "a"))});
  Append(turn, {SlotUpdate(turn, 2, MakeSlot("memory", "b")),
                SlotUpdate(turn, 3, MakeSlot("planner", "p"))});
  EXPECT_EQ(SlotData("memory"), std::nullopt);
  const Receipt receipt = CommitTurn(turn);
  EXPECT_EQ(receipt.last_entry, EntryNumber(3));
  EXPECT_EQ(SlotData("memory"), "b");
  EXPECT_EQ(SlotData("planner"), "p");
  Reopen();
  EXPECT_EQ(SlotData("memory"), "b");
}

TEST_P(Contract, C100_TheCommitsOwnSlotsComeAfterTheTurns) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "from the journal")),
                SlotUpdate(turn, 2, MakeSlot("planner", "from the journal"))});
  CommitTurn(turn, {}, {MakeSlot("memory", "from the commit")});
  EXPECT_EQ(SlotData("memory"), "from the commit");
  EXPECT_EQ(SlotData("planner"), "from the journal");
}

TEST_P(Contract, C101_AppliesSlotAtRevisionOfCommit) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "a", "2.1.0"))});
  const Receipt receipt = CommitTurn(turn, {}, {MakeSlot("planner", "p")});
  const auto slots = Slots({.owners = {"memory", "planner"}});
  ASSERT_EQ(slots.size(), 2U);
  EXPECT_EQ(slots[0].slot.revision, receipt.revision);
  EXPECT_EQ(slots[0].slot.version, "2.1.0");
  EXPECT_EQ(slots[1].slot.revision, receipt.revision);
}

TEST_P(Contract, C036_AnAbandonedTurnLeavesNoTraceInSlots) {
  Create();
  RunTurn({}, {MakeSlot("memory", "a")});
  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "lost")),
                SlotUpdate(turn, 2, MakeSlot("planner", "lost"))});
  const Receipt receipt = Apply(changes().Abandon(token(), turn));
  EXPECT_EQ(receipt.abandoned_turn, turn);
  EXPECT_EQ(receipt.entries_dropped, 2U);
  EXPECT_EQ(SlotData("memory"), "a");
  RunTurn();
  EXPECT_EQ(SlotData("memory"), "a");
  EXPECT_EQ(SlotData("planner"), std::nullopt);
  Reopen();
  EXPECT_EQ(SlotData("planner"), std::nullopt);
}

TEST_P(Contract, C037_ASlotUpdateBetweenTurnsAppliesAtOnce) {
  Create();
  Append(TurnNumber(), {SlotUpdate(TurnNumber(), 1, MakeSlot("memory", "a"))});
  EXPECT_EQ(SlotData("memory"), "a");
  Append(TurnNumber(), {SlotUpdate(TurnNumber(), 2, MakeSlot("memory", "b"))});
  EXPECT_EQ(SlotData("memory"), "b");
  Reopen();
  EXPECT_EQ(SlotData("memory"), "b");
  // A turn that is abandoned takes nothing of it away.
  Apply(changes().Abandon(token(), Begin()));
  EXPECT_EQ(SlotData("memory"), "b");
}

TEST_P(Contract, C038_ASlotStaysAsItIsOverAnyNumberOfSnapshots) {
  Create();
  const Receipt written = RunTurn({}, {MakeSlot("memory", "a"), MakeSlot("planner", "p")});
  for (int turn = 0; turn < 50; ++turn) RunTurn({}, {MakeSlot("planner", std::to_string(turn))});
  Reopen();
  const auto slots = Slots({.owners = {"memory"}});
  ASSERT_EQ(slots.size(), 1U);
  EXPECT_EQ(slots[0].slot.data, "a");
  EXPECT_EQ(slots[0].slot.revision, written.revision);
  EXPECT_EQ(SlotData("planner"), "49");
}

TEST_P(Contract, C039_ADeletedSlotIsGone) {
  Create();
  RunTurn({}, {MakeSlot("memory", "a"), MakeSlot("planner", "p")});
  Change change = changes().Write(token());
  change.deleted_slots = {"memory"};
  Apply(change);
  EXPECT_EQ(SlotData("memory"), std::nullopt);
  EXPECT_EQ(SlotData("planner"), "p");
  Reopen();
  RunTurn();
  EXPECT_EQ(SlotData("memory"), std::nullopt);
}

TEST_P(Contract, C103_ADeletedSlotIsStillThereInTheSnapshotsBefore) {
  Create();
  const Revision before = RunTurn({}, {MakeSlot("memory", "a")}).revision;
  Change change = changes().Write(token());
  change.deleted_slots = {"memory"};
  const Revision deleted = Apply(change).revision;
  const Revision again = RunTurn({}, {MakeSlot("memory", "b")}).revision;
  Reopen();
  EXPECT_EQ(SlotData("memory", before), "a");
  EXPECT_EQ(SlotData("memory", deleted), std::nullopt);
  EXPECT_EQ(SlotData("memory", again), "b");
}

TEST_P(Contract, C040_TheStoresOwnSlotIsPartOfEverySnapshot) {
  const Receipt created = Create();
  for (const Revision revision : {created.revision, RunTurn().revision}) {
    const auto slots = Slots({.revision = revision, .owners = {kStoreSlotOwner}});
    ASSERT_EQ(slots.size(), 1U);
    EXPECT_EQ(slots[0].slot.revision, revision);
    EXPECT_THAT(slots[0].slot.data,
                ::testing::HasSubstr("\"snapshot\":" + std::to_string(revision.value())));
  }
}

TEST_P(Contract, C236_SnapshotDescribesItself) {
  Change create = changes().Create();
  create.messages = {Text("a")};
  TakeToken(Apply(create));
  const Head first = LoadHead();
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "n")});
  Change inside = changes().KeepTurn(token(), turn);
  inside.messages = {Text("b")};
  inside.sm.emplace(StateMachineRef{.ext_id = "plan\"ner", .slot_ref = "slot-1"});
  Apply(inside);
  const Head second = LoadHead();
  CommitTurn(turn, {Text("c")});
  const Head third = LoadHead();
  Change replace = changes().Write(token());
  replace.replaces_history = true;
  replace.messages = {Text("x")};
  replace.sm.emplace(std::nullopt);
  Apply(replace);
  const Head fourth = LoadHead();
  Reopen();
  const std::vector<std::pair<Head, TurnNumber>> snapshots = {
      {first, TurnNumber()}, {second, turn}, {third, turn}, {fourth, TurnNumber()}};
  for (const auto& [head, of_turn] : snapshots) {
    const auto slots = Slots({.revision = head.revision, .owners = {kStoreSlotOwner}});
    ASSERT_EQ(slots.size(), 1U);
    EXPECT_EQ(slots[0].slot.version, kSnapshotDescriptionVersion);
    EXPECT_EQ(DecodeSnapshotDescription(slots[0].slot.data.str()), DescribeSnapshot(head, of_turn));
  }
}

TEST_P(Contract, C055_SlotsComeByOwner) {
  Create();
  RunTurn({}, {MakeSlot("zeta", "z"), MakeSlot("alpha", "a"), MakeSlot("memory", "m")});
  EXPECT_THAT(Owners(Slots()), ElementsAre("alpha", kStoreSlotOwner, "memory", "zeta"));
  const auto page = store().ReadSlots(key(), {});
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->at.revision, LoadHead().revision);
  EXPECT_EQ(page->at.journal, LoadHead().journal);
}

TEST_P(Contract, C128_SlotsAreReadAsTheyWereAtARevision) {
  Create();
  std::vector<Revision> revisions;
  for (int turn = 0; turn < 5; ++turn) {
    revisions.push_back(RunTurn({}, {MakeSlot("memory", std::to_string(turn))}).revision);
  }
  Reopen();
  for (size_t turn = 0; turn < revisions.size(); ++turn) {
    EXPECT_EQ(SlotData("memory", revisions[turn]), std::to_string(turn));
  }
  EXPECT_EQ(SlotData("memory", Revision(1)), std::nullopt);
}

TEST_P(Contract, C125_NamedSlotsComeAlone) {
  Create();
  RunTurn({}, {MakeSlot("zeta", "z"), MakeSlot("alpha", "a"), MakeSlot("memory", "m")});
  EXPECT_THAT(Owners(Slots({.owners = {"zeta", "memory"}})), ElementsAre("memory", "zeta"));
}

TEST_P(Contract, C126_AnAbsentSlotIsLeftOut) {
  Create();
  RunTurn({}, {MakeSlot("memory", "m")});
  EXPECT_THAT(Owners(Slots({.owners = {"absent", "memory"}})), ElementsAre("memory"));
  EXPECT_THAT(Slots({.owners = {"absent"}}), ::testing::IsEmpty());
}

TEST_P(Contract, C127_WithoutDataTheSizeIsThere) {
  Create();
  RunTurn({}, {MakeSlot("memory", "twelve bytes", "3.0.1")});
  const auto slots = Slots({.owners = {"memory"}, .most_bytes = 0});
  ASSERT_EQ(slots.size(), 1U);
  EXPECT_EQ(slots[0].slot.data, "");
  EXPECT_EQ(slots[0].slot.version, "3.0.1");
  EXPECT_EQ(slots[0].size, 12U);
  EXPECT_FALSE(slots[0].damaged);
  EXPECT_EQ(Slots({.owners = {"memory"}}).at(0).size, 12U);
}

TEST_P(Contract, C197_NoMoreDataIsReadThanThereIsRoomFor) {
  Create();
  RunTurn({},
          {MakeSlot("a", "1234"), MakeSlot("b", "123456"), MakeSlot("c", "1"), MakeSlot("d", "")});
  const auto data = [&](size_t most) {
    std::vector<std::string> shown;
    for (const SlotView& view : Slots({.owners = {"a", "b", "c", "d"}, .most_bytes = most})) {
      EXPECT_FALSE(view.damaged);
      EXPECT_TRUE(!view.data_left_out || view.slot.data.empty());
      shown.push_back(view.data_left_out ? absl::StrCat("left out of ", view.size)
                                         : view.slot.data.str());
    }
    return shown;
  };
  EXPECT_THAT(data(11), ElementsAre("1234", "123456", "1", ""));
  EXPECT_THAT(data(10), ElementsAre("1234", "123456", "left out of 1", ""));
  EXPECT_THAT(data(9), ElementsAre("1234", "left out of 6", "left out of 1", ""));
  EXPECT_THAT(data(3), ElementsAre("left out of 4", "left out of 6", "left out of 1", ""));
  EXPECT_THAT(data(0), ElementsAre("left out of 4", "left out of 6", "left out of 1", ""));
}

}  // namespace
}  // namespace holdfast::test
