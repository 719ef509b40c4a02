// Snapshots inside a turn, and the check of a store.
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

TEST_P(Contract, C172_ASnapshotInsideATurnHoldsWhatTheTurnHasSoFar) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "a")), Note(turn, 2, "noted")});
  Change keep = changes().KeepTurn(token(), turn);
  keep.messages = {Text("so far")};
  keep.slots = {MakeSlot("plan", "half")};
  const Receipt receipt = Apply(keep);
  EXPECT_EQ(receipt.revision, Revision(3));
  EXPECT_EQ(receipt.snapshot, Revision(3));
  EXPECT_EQ(receipt.last_entry, EntryNumber(2));
  for (int round = 0; round < 2; ++round) {
    const Head head = LoadHead();
    EXPECT_EQ(head.lifecycle, Lifecycle::kActive);
    ASSERT_TRUE(head.turn.has_value());
    EXPECT_EQ(head.turn->number, turn);
    EXPECT_EQ(head.turn->last_entry, EntryNumber(2));
    EXPECT_EQ(head.committed_turns, 0U);
    EXPECT_EQ(head.last_committed_request, keep.request->id);
    EXPECT_EQ(SlotData("memory"), "a");
    EXPECT_EQ(SlotData("plan"), "half");
    EXPECT_THAT(MessageTexts(), ElementsAre("so far"));
    Reopen();
  }
  EXPECT_EQ(EventNames().back(), "SessionPersisted");
  Append(turn, {Note(turn, 3, "and on")});
  EXPECT_EQ(CommitTurn(turn, {Text("the end")}).last_entry, EntryNumber(3));
  EXPECT_THAT(MessageTexts(), ElementsAre("so far", "the end"));
}

TEST_P(Contract, C173_AppliesEntriesOfTurnOnce) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "from the journal"))});
  Change keep = changes().KeepTurn(token(), turn);
  keep.slots = {MakeSlot("memory", "from the snapshot")};
  Apply(keep);
  Append(turn, {SlotUpdate(turn, 2, MakeSlot("plan", "later"))});
  EXPECT_EQ(SlotData("plan"), std::nullopt);
  CommitTurn(turn);
  EXPECT_EQ(SlotData("memory"), "from the snapshot");
  EXPECT_EQ(SlotData("plan"), "later");
  Reopen();
  EXPECT_EQ(SlotData("memory"), "from the snapshot");
}

TEST_P(Contract, C174_AnAbandonedTurnKeepsWhatASnapshotInsideItHolds) {
  for (const bool by_resume : {false, true}) {
    Changes theirs(Key(by_resume ? "resumed" : "abandoned"), random());
    const LeaseToken token = TokenIn(Apply(theirs.Create()));
    const TurnNumber turn = Apply(theirs.Begin(token)).turn;
    Apply(theirs.Append(token, turn, {SlotUpdate(turn, 1, MakeSlot("memory", "kept"))}));
    Change keep = theirs.KeepTurn(token, turn);
    keep.messages = {Text("kept")};
    Apply(keep);
    Apply(theirs.Append(token, turn,
                        {SlotUpdate(turn, 2, MakeSlot("memory", "lost")), Note(turn, 3, "lost")}));
    ASSERT_TRUE(LoadHead(theirs.key()).turn.has_value());
    const Receipt receipt = Apply(by_resume ? theirs.ResumeActive() : theirs.Abandon(token, turn));
    EXPECT_EQ(receipt.abandoned_turn, turn);
    EXPECT_EQ(receipt.entries_dropped, 2U);
    EXPECT_EQ(receipt.snapshot, Revision(3));
    for (int round = 0; round < 2; ++round) {
      const auto slots = store().ReadSlots(theirs.key(), {.owners = {"memory"}});
      ASSERT_TRUE(slots.ok());
      ASSERT_EQ(slots->slots.size(), 1U);
      EXPECT_EQ(slots->slots[0].slot.data, "kept");
      EXPECT_EQ(LoadHead(theirs.key()).messages, MessageSeq(1));
      Reopen();
    }
  }
}

TEST_P(Contract, C175_TheTurnsEntriesStayReadableOverAnyNumberOfSnapshotsInsideIt) {
  Create();
  RunTurn({Text("before")});
  const TurnNumber turn = Begin();
  for (uint64_t number = 1; number <= 15; ++number) {
    Append(turn, {Note(turn, number, std::to_string(number))});
    Apply(changes().KeepTurn(token(), turn));
  }
  for (int round = 0; round < 2; ++round) {
    const auto entries = Journal(turn);
    ASSERT_EQ(entries.size(), 15U);
    EXPECT_EQ(entries.front().number, EntryNumber(1));
    Reopen();
  }
  // A copy of the first one is still known.
  EXPECT_EQ(Append(turn, {Note(turn, 1, "1")}).last_entry, EntryNumber(15));
  const auto other = store().Commit(changes().Append(token(), turn, {Note(turn, 1, "another")}));
  EXPECT_EQ(ReasonIn(other), "REQUEST_ID_REUSED");
}

TEST_P(Contract, C176_ACheckWritesAndLeavesSessionsAsTheyAre) {
  Create();
  RunTurn({Text("one")}, {MakeSlot("memory", "a")});
  const std::string before = Picture();
  for (int times = 0; times < 3; ++times) {
    const auto check = store().Check();
    ASSERT_EQ(ReasonIn(check), "OK");
    EXPECT_TRUE(check->reappeared.empty());
  }
  EXPECT_EQ(Picture(), before);
  RunTurn({Text("two")});
}

TEST_P(Contract, C177_ACheckOfAStoreThatCannotBeWrittenSaysSo) {
  Create();
  under_test().BreakWrites();
  const auto check = store().Check();
  EXPECT_EQ(ReasonIn(check), "STORE_UNAVAILABLE");
  EXPECT_GT(RefusalOf(check.status()).message().size(), 20U);
  under_test().MendWrites();
  Reopen();
  EXPECT_EQ(ReasonIn(store().Check()), "OK");
}

}  // namespace
}  // namespace holdfast::test
