// Pages, positions, and how many of them are kept.
#include "tests/contract/suite.h"

#include <functional>

namespace holdfast::test {
namespace {

// What every page has in common, of one kind of read.
struct PageSeen {
  absl::Status status;
  size_t items = 0;
  bool end = false;
};

struct Reader {
  std::string name;
  std::function<PageSeen(SessionStore&, const SessionKey&, uint64_t, PageLimit)> read;
};

template <typename Page, typename Items>
PageSeen SeenIn(const absl::StatusOr<Page>& page, Items Page::*items) {
  if (!page.ok()) return {.status = page.status()};
  return {.items = (*page.*items).size(), .end = page->end};
}

const std::vector<Reader>& Readers() {
  static const std::vector<Reader> kReaders = {
      {"messages",
       [](SessionStore& store, const SessionKey& key, uint64_t after, PageLimit limit) {
         return SeenIn(store.ReadMessages(key, std::nullopt, MessageSeq(after), limit),
                       &MessagePage::messages);
       }},
      {"journal",
       [](SessionStore& store, const SessionKey& key, uint64_t after, PageLimit limit) {
         return SeenIn(store.ReadJournal(key, {.after = JournalNumber(after)}, limit),
                       &JournalPage::entries);
       }},
      {"events",
       [](SessionStore& store, const SessionKey& key, uint64_t after, PageLimit limit) {
         return SeenIn(store.ReadEvents(key, EventSeq(after), limit), &EventPage::events);
       }},
      {"audit",
       [](SessionStore& store, const SessionKey& key, uint64_t after, PageLimit limit) {
         return SeenIn(store.ReadAudit(key, AuditSeq(after), limit), &AuditPage::records);
       }},
  };
  return kReaders;
}

// Five of each: messages, entries, events and audit records.
void FillWithFives(SessionStore& store, Changes& changes) {
  Change create = changes.Create();
  for (int i = 0; i < 5; ++i) create.messages.push_back(Text(std::string(100, 'm')));
  create.events.resize(1);
  const auto created = store.Commit(create);
  ASSERT_TRUE(created.ok());
  const LeaseToken token = TokenIn(created->receipt);
  Change append = changes.Append(token, TurnNumber(), {});
  for (int i = 1; i <= 5; ++i)
    append.entries.push_back(Note(TurnNumber(), i, std::string(100, 'e')));
  ASSERT_TRUE(store.Commit(append).ok());
  for (int i = 0; i < 4; ++i) {
    Change update = changes.Update({{"title", "x"}});
    update.events = {{.name = "Note", .payload = {{"text", std::string(100, 'p')}}}};
    ASSERT_TRUE(store.Commit(update).ok());
  }
}

TEST_P(Contract, C130_AReadOfAnUnknownSessionIsNotFound) {
  for (const Reader& reader : Readers()) {
    EXPECT_EQ(ReasonIn(reader.read(store(), key(), 0, kWholePage).status), "SESSION_NOT_FOUND")
        << reader.name;
  }
  EXPECT_EQ(ReasonIn(store().ReadSlots(key(), {})), "SESSION_NOT_FOUND");
}

TEST_P(Contract, C116_AReadOfADeletedSessionIsTombstoned) {
  Create();
  LetLeaseExpire();
  Apply(changes().Delete());
  for (const Reader& reader : Readers()) {
    EXPECT_EQ(ReasonIn(reader.read(store(), key(), 0, kWholePage).status), "TOMBSTONED")
        << reader.name;
  }
  EXPECT_EQ(ReasonIn(store().ReadSlots(key(), {})), "TOMBSTONED");
  EXPECT_EQ(ReasonIn(store().RenewLeases({{.key = key(), .token = token()}}).at(0)), "TOMBSTONED");
}

TEST_P(Contract, C131_AReadOfAForeignSessionIsAMismatch) {
  under_test().Close();
  under_test().PlantForeign(key());
  under_test().Open();
  for (const Reader& reader : Readers()) {
    EXPECT_EQ(ReasonIn(reader.read(store(), key(), 0, kWholePage).status), "RESUME_MISMATCH")
        << reader.name;
  }
  EXPECT_EQ(ReasonIn(store().ReadSlots(key(), {})), "RESUME_MISMATCH");
}

TEST_P(Contract, C054_APageHoldsAtLeastOneItem) {
  FillWithFives(store(), changes());
  for (const Reader& reader : Readers()) {
    const PageSeen page = reader.read(store(), key(), 0, {.items = 10, .bytes = 1});
    EXPECT_EQ(page.items, 1U) << reader.name;
    EXPECT_FALSE(page.end) << reader.name;
  }
}

TEST_P(Contract, C122_APageEndsAtTheLimitOfItems) {
  FillWithFives(store(), changes());
  for (const Reader& reader : Readers()) {
    const PageSeen page = reader.read(store(), key(), 0, {.items = 2, .bytes = kWholePage.bytes});
    EXPECT_EQ(page.items, 2U) << reader.name;
    EXPECT_FALSE(page.end) << reader.name;
  }
}

TEST_P(Contract, C123_APageEndsAtTheLimitOfBytes) {
  FillWithFives(store(), changes());
  // Five items of 100 bytes and a little: never all of them in 350.
  const PageSeen messages = Readers()[0].read(store(), key(), 0, {.items = 10, .bytes = 350});
  EXPECT_GE(messages.items, 1U);
  EXPECT_LE(messages.items, 3U);
  EXPECT_FALSE(messages.end);
  const PageSeen journal = Readers()[1].read(store(), key(), 0, {.items = 10, .bytes = 350});
  EXPECT_GE(journal.items, 1U);
  EXPECT_LE(journal.items, 3U);
  EXPECT_FALSE(journal.end);
}

TEST_P(Contract, C124_APageSaysWhetherItReachedTheNewest) {
  FillWithFives(store(), changes());
  for (const Reader& reader : Readers()) {
    size_t items = 0;
    bool end = false;
    for (int pages = 0; pages < 5 && !end; ++pages) {
      const PageSeen page =
          reader.read(store(), key(), items, {.items = 2, .bytes = kWholePage.bytes});
      items += page.items;
      end = page.end;
      EXPECT_EQ(end, items == 5) << reader.name << " after " << items;
    }
    EXPECT_EQ(items, 5U) << reader.name;
    // A page that is full and reaches the newest says so too.
    EXPECT_TRUE(reader.read(store(), key(), 0, {.items = 5, .bytes = kWholePage.bytes}).end)
        << reader.name;
  }
}

TEST_P(Contract, C132_BehindTheNewestAPageIsEmpty) {
  FillWithFives(store(), changes());
  for (const Reader& reader : Readers()) {
    for (const uint64_t after : {5, 6, 1000}) {
      const PageSeen page = reader.read(store(), key(), after, kWholePage);
      EXPECT_TRUE(page.status.ok()) << reader.name;
      EXPECT_EQ(page.items, 0U) << reader.name;
      EXPECT_TRUE(page.end) << reader.name;
    }
  }
}

TEST_P(Contract, C050_TheHistoryComesInOrderWithoutGaps) {
  Create();
  for (int turn = 0; turn < 12; ++turn) {
    RunTurn({Text("ask " + std::to_string(turn)), Text("answer " + std::to_string(turn))});
  }
  Reopen();
  std::vector<Message> all;
  for (int pages = 0; pages < 30; ++pages) {
    const MessageSeq after = all.empty() ? MessageSeq() : all.back().seq;
    const auto page =
        store().ReadMessages(key(), std::nullopt, after, {.items = 5, .bytes = kWholePage.bytes});
    ASSERT_EQ(ReasonIn(page), "OK");
    EXPECT_EQ(page->newest, MessageSeq(24));
    EXPECT_EQ(page->at.revision, LoadHead().revision);
    all.insert(all.end(), page->messages.begin(), page->messages.end());
    if (page->end) break;
  }
  ASSERT_EQ(all.size(), 24U);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].seq, MessageSeq(i + 1));
  EXPECT_EQ(all[23].data, "answer 11");
}

TEST_P(Contract, C051_APositionThatWasSeenStaysTheSame) {
  Create();
  const Revision first = RunTurn({Text("one")}, {MakeSlot("memory", "a")}).revision;
  const Revision second = RunTurn({Text("two")}, {MakeSlot("memory", "b")}).revision;
  const TurnNumber turn = Begin();
  const Revision begun = LoadHead().revision;
  CommitTurn(turn, {Text("three")});
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(MessageTexts(first), ::testing::ElementsAre("one"));
    EXPECT_THAT(MessageTexts(second), ::testing::ElementsAre("one", "two"));
    // Of a revision without a snapshot too: it shows the last one before it.
    EXPECT_THAT(MessageTexts(begun), ::testing::ElementsAre("one", "two"));
    EXPECT_EQ(SlotData("memory", first), "a");
    EXPECT_EQ(SlotData("memory", begun), "b");
    const auto page = store().ReadMessages(key(), first, MessageSeq(), kWholePage);
    ASSERT_EQ(ReasonIn(page), "OK");
    EXPECT_EQ(page->newest, MessageSeq(1));
    EXPECT_EQ(page->at.revision, first);
    EXPECT_TRUE(page->end);
    Reopen();
  }
}

TEST_P(Contract, C052_APrunedPositionSaysWhatIsKept) {
  Create();
  const Revision first = RunTurn({Text("one")}).revision;
  for (int turn = 0; turn < 9; ++turn) RunTurn({Text("more")});
  EXPECT_THAT(MessageTexts(first), ::testing::ElementsAre("one"));
  RunTurn({Text("more")});
  const Revision oldest = OldestKept(LoadHead()).revision;
  EXPECT_EQ(oldest, Revision(first.value() + 2));
  const auto pruned = store().ReadMessages(key(), first, MessageSeq(), kWholePage);
  EXPECT_EQ(ReasonIn(pruned), "REVISION_PRUNED");
  EXPECT_EQ(FactIn(pruned.status(), "oldest"), std::to_string(oldest.value()));
  EXPECT_EQ(ReasonIn(store().ReadSlots(key(), {.revision = first})), "REVISION_PRUNED");
  EXPECT_EQ(MessageTexts(oldest).size(), 2U);
}

TEST_P(Contract, C053_APositionAboveTheCurrentOneIsAhead) {
  Create();
  const auto ahead = store().ReadMessages(key(), Revision(2), MessageSeq(), kWholePage);
  EXPECT_EQ(ReasonIn(ahead), "REVISION_AHEAD");
  EXPECT_EQ(FactIn(ahead.status(), "what"), "revision");
  EXPECT_EQ(FactIn(ahead.status(), "known"), "2");
  EXPECT_EQ(FactIn(ahead.status(), "stored"), "1");
  EXPECT_EQ(ReasonIn(store().ReadSlots(key(), {.revision = Revision(2)})), "REVISION_AHEAD");
}

TEST_P(Contract, C058_EventsComeInOrderBehindANumber) {
  Create();
  RunTurn();
  const auto page = store().ReadEvents(key(), EventSeq(2), kWholePage);
  ASSERT_EQ(ReasonIn(page), "OK");
  ASSERT_EQ(page->events.size(), 2U);
  EXPECT_EQ(page->events[0].seq, EventSeq(3));
  EXPECT_EQ(page->events[0].name, "SessionTurnEnd");
  EXPECT_EQ(page->events[1].name, "SessionPersisted");
  EXPECT_EQ(page->revision, LoadHead().revision);
  EXPECT_TRUE(page->end);
}

TEST_P(Contract, C059_TheAuditChainIsThereFromItsFirstRecordOn) {
  Create();
  for (int turn = 0; turn < 40; ++turn) RunTurn();
  clock().Advance(absl::Hours(24 * 30));
  Reopen();
  const auto records = Audit();
  ASSERT_EQ(records.size(), 81U);
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].seq, AuditSeq(i + 1));
  const auto page = store().ReadAudit(key(), AuditSeq(80), kWholePage);
  ASSERT_EQ(ReasonIn(page), "OK");
  ASSERT_EQ(page->records.size(), 1U);
  EXPECT_EQ(page->records[0], records[80]);
}

TEST_P(Contract, C237_KeepsAsManySnapshotsAsConfigured) {
  constexpr size_t kMany = 30;
  under_test().SetRetention({.snapshots = kMany});
  Reopen();
  std::vector<Revision> revisions = {Create().revision};
  while (revisions.size() <= kMany) {
    revisions.push_back(RunTurn({Text("a")}, {MakeSlot("memory", "m")}).revision);
  }
  EXPECT_EQ(ReasonIn(store().ReadSlots(key(), {.revision = revisions[0]})), "REVISION_PRUNED");
  for (size_t turn = 1; turn <= kMany; ++turn) {
    EXPECT_EQ(MessageTexts(revisions[turn]).size(), turn);
    EXPECT_EQ(SlotData("memory", revisions[turn]), "m");
  }
  Reopen();
  EXPECT_EQ(LoadHead().snapshots.size(), kMany);
  EXPECT_EQ(MessageTexts(revisions[1]).size(), 1U);
}

TEST_P(Contract, C238_KeepsFewerSnapshotsFromTheNextOneOn) {
  Create();
  const Revision first = RunTurn({Text("a")}).revision;
  const Revision second = RunTurn({Text("b")}).revision;
  under_test().SetRetention({.snapshots = 1});
  Reopen();
  EXPECT_EQ(MessageTexts(first).size(), 1U);
  const Revision third = RunTurn({Text("c")}).revision;
  for (const Revision pruned : {first, second}) {
    const auto slots = store().ReadSlots(key(), {.revision = pruned});
    EXPECT_EQ(ReasonIn(slots), "REVISION_PRUNED");
    EXPECT_EQ(FactIn(slots.status(), "oldest"), std::to_string(third.value()));
  }
  EXPECT_EQ(LoadHead().snapshots.size(), 1U);
  EXPECT_EQ(MessageTexts(third).size(), 3U);
}

}  // namespace
}  // namespace holdfast::test
