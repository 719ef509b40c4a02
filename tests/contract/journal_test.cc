// Journal entries: their key, their repeats, and reading them.
#include "session/limits.h"
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

std::vector<std::string> Data(const std::vector<JournalEntry>& entries) {
  std::vector<std::string> data;
  for (const JournalEntry& entry : entries) data.push_back(entry.data.str());
  return data;
}

TEST_P(Contract, C041_AnEntryThatIsThereIsAnsweredAsDone) {
  Create();
  const TurnNumber turn = Begin();
  const std::vector<JournalEntry> entries = {Note(turn, 1, "a"),
                                             SlotUpdate(turn, 2, MakeSlot("memory", "m"))};
  Append(turn, entries);
  const Receipt again = Append(turn, entries);
  EXPECT_EQ(again.last_entry, EntryNumber(2));
  EXPECT_EQ(Append(turn, {Note(turn, 1, "a")}).last_entry, EntryNumber(2));
  EXPECT_EQ(Journal().size(), 2U);
  EXPECT_EQ(LoadHead().journal, JournalNumber(2));
}

TEST_P(Contract, C104_ARepeatOfAnEntryIsKnownAfterADay) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "a")});
  clock().Advance(absl::Hours(25));
  Reopen();
  EXPECT_EQ(Append(turn, {Note(turn, 1, "a")}).last_entry, EntryNumber(1));
  EXPECT_EQ(Journal().size(), 1U);
}

TEST_P(Contract, C105_ARepeatOfAnEndedTurnsEntryIsAnsweredAsDone) {
  Create();
  const TurnNumber committed = Begin();
  Append(committed, {Note(committed, 1, "a")});
  CommitTurn(committed);
  const TurnNumber abandoned = Begin();
  Append(abandoned, {Note(abandoned, 1, "b"), Note(abandoned, 2, "c")});
  Apply(changes().Abandon(token(), abandoned));
  const TurnNumber active = Begin();
  Append(active, {Note(active, 1, "d")});
  EXPECT_EQ(Append(committed, {Note(committed, 1, "a")}).last_entry, EntryNumber(1));
  Reopen();
  EXPECT_EQ(Append(abandoned, {Note(abandoned, 1, "b")}).last_entry, EntryNumber(2));
  EXPECT_THAT(Data(Journal()), ::testing::ElementsAre("a", "b", "c", "d"));
}

TEST_P(Contract, C042_AnEntryWithOtherBytesIsReused) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "a"), SlotUpdate(turn, 2, MakeSlot("memory", "m"))});
  EXPECT_EQ(ReasonIn(store().Commit(changes().Append(token(), turn, {Note(turn, 1, "b")}))),
            "REQUEST_ID_REUSED");
  EXPECT_EQ(ReasonIn(store().Commit(changes().Append(
                token(), turn, {SlotUpdate(turn, 2, MakeSlot("memory", "other"))}))),
            "REQUEST_ID_REUSED");
  const absl::Status second =
      store()
          .Commit(changes().Append(token(), turn, {Note(turn, 1, "a"), Note(turn, 2, "b")}))
          .value()
          .refusal;
  EXPECT_EQ(FactIn(second, "turn"), "1");
  EXPECT_EQ(FactIn(second, "number"), "2");
  // Nothing of an append that rewrites one entry is added.
  EXPECT_EQ(ReasonIn(store().Commit(changes().Append(
                token(), turn, {SlotUpdate(turn, 2, MakeSlot("other", "m")), Note(turn, 3, "c")}))),
            "REQUEST_ID_REUSED");
  EXPECT_EQ(Journal().size(), 2U);
  CommitTurn(turn);
  EXPECT_EQ(ReasonIn(store().Commit(changes().Append(token(), turn, {Note(turn, 1, "b")}))),
            "REQUEST_ID_REUSED");
}

TEST_P(Contract, C106_OfAnOverlappingAppendOnlyTheNewEntriesAreAdded) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "a"), Note(turn, 2, "b")});
  const Receipt receipt =
      Append(turn, {Note(turn, 1, "a"), Note(turn, 2, "b"), Note(turn, 3, "c")});
  EXPECT_EQ(receipt.last_entry, EntryNumber(3));
  EXPECT_THAT(Data(Journal()), ::testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(LoadHead().journal, JournalNumber(3));
}

TEST_P(Contract, C102_AnAbandonedTurnsEntriesStayInTheJournal) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "a")});
  Apply(changes().Abandon(token(), turn));
  RunTurn();
  EXPECT_THAT(Data(Journal(turn)), ::testing::ElementsAre("a"));
}

TEST_P(Contract, C056_TheJournalComesInOrderOfItsNumbers) {
  Create();
  Append(TurnNumber(), {Note(TurnNumber(), 1, "between")});
  const TurnNumber first = Begin();
  JournalEntry intent = Note(first, 1, "call");
  intent.kind = JournalKind::kToolIntent;
  intent.ref = "tool-1";
  Append(first, {intent, SlotUpdate(first, 2, MakeSlot("memory", "m", "1.2.3"))});
  CommitTurn(first);
  const TurnNumber second = Begin();
  Append(second, {Note(second, 1, "open")});
  Reopen();
  const auto entries = Journal();
  ASSERT_EQ(entries.size(), 4U);
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].journal_number, JournalNumber(i + 1));
  }
  EXPECT_EQ(entries[0].turn, TurnNumber());
  EXPECT_EQ(entries[1].kind, JournalKind::kToolIntent);
  EXPECT_EQ(entries[1].ref, "tool-1");
  EXPECT_EQ(entries[1].number, EntryNumber(1));
  ASSERT_TRUE(entries[2].slot.has_value());
  EXPECT_EQ(entries[2].slot->data, "m");
  EXPECT_EQ(entries[2].slot->version, "1.2.3");
  EXPECT_EQ(entries[3].data, "open");
}

TEST_P(Contract, C129_TheJournalOfOneTurnComesAlone) {
  Create();
  Append(TurnNumber(), {Note(TurnNumber(), 1, "between")});
  const TurnNumber first = Begin();
  Append(first, {Note(first, 1, "a"), Note(first, 2, "b")});
  CommitTurn(first);
  const TurnNumber second = Begin();
  Append(second, {Note(second, 1, "c")});
  EXPECT_THAT(Data(Journal(first)), ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(Data(Journal(second)), ::testing::ElementsAre("c"));
  EXPECT_THAT(Data(Journal(TurnNumber())), ::testing::ElementsAre("between"));
}

TEST_P(Contract, C230_ATurnsEntriesComeWholeHoweverManyTurnsHaveEndedSince) {
  Create();
  const TurnNumber first = Begin();
  Append(first, {Note(first, 1, "a"), Note(first, 2, "b"), Note(first, 3, "c")});
  Apply(changes().Abandon(token(), first));
  for (size_t ended = 0; ended <= kEndedTurnsKept; ++ended) {
    const TurnNumber turn = Begin();
    Append(turn, {Note(turn, 1, "of another turn")});
    Apply(changes().Abandon(token(), turn));
  }
  std::vector<JournalEntry> entries;
  bool end = false;
  while (!end) {
    const JournalNumber after = entries.empty() ? JournalNumber() : entries.back().journal_number;
    const auto page = store().ReadJournal(key(), {.after = after, .turn = first},
                                          {.items = 1, .bytes = kWholePage.bytes});
    ASSERT_EQ(ReasonIn(page), "OK");
    ASSERT_TRUE(page->end || !page->entries.empty()) << "an empty page that is not the last";
    entries.insert(entries.end(), page->entries.begin(), page->entries.end());
    end = page->end;
  }
  EXPECT_THAT(Data(entries), ::testing::ElementsAre("a", "b", "c"));
}

TEST_P(Contract, C057_APrunedJournalSaysSo) {
  Create();
  for (int i = 0; i < 15; ++i) {
    const TurnNumber turn = Begin();
    Append(turn, {Note(turn, 1, std::to_string(i)), Note(turn, 2, "second")});
    CommitTurn(turn);
  }
  const JournalNumber oldest = OldestKept(LoadHead()).journal;
  ASSERT_EQ(oldest, JournalNumber(12));
  const auto pruned = store().ReadJournal(key(), {.after = JournalNumber(3)}, kWholePage);
  EXPECT_EQ(ReasonIn(pruned), "REVISION_PRUNED");
  // From 0 it begins with what is kept, and the entry behind the oldest is the first.
  const auto entries = Journal();
  ASSERT_FALSE(entries.empty());
  EXPECT_EQ(entries.front().journal_number, oldest.Next());
  const auto kept = store().ReadJournal(key(), {.after = oldest}, kWholePage);
  ASSERT_EQ(ReasonIn(kept), "OK");
  EXPECT_EQ(kept->entries.size(), entries.size());
}

}  // namespace
}  // namespace holdfast::test
