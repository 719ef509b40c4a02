// Checkpoints: snapshots that are pinned, and what of them is read once newer ones have followed.
#include "session/checkpoint.h"
#include "session/limits.h"
#include "tests/contract/suite.h"
#include "tests/support/checkpoint_changes.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

ItemQuery AllCheckpoints() { return {.collection = kCheckpointCollection, .data = true}; }

// The checkpoints that items are, and the names they say.
class Checkpoints {
 public:
  explicit Checkpoints(std::vector<ItemView> views) {
    for (const ItemView& view : views) {
      if (const auto checkpoint = DecodeCheckpoint(view.item)) all_.push_back(*checkpoint);
      if (const auto revision = DecodeCheckpointName(view.item)) {
        names_.push_back(view.item.name.key.substr(1) + "=" + std::to_string(revision->value()));
      }
    }
  }

  [[nodiscard]] const std::vector<Checkpoint>& all() const { return all_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::vector<uint64_t> revisions() const {
    std::vector<uint64_t> revisions;
    for (const Checkpoint& checkpoint : all_) revisions.push_back(checkpoint.revision().value());
    return revisions;
  }

 private:
  std::vector<Checkpoint> all_;
  std::vector<std::string> names_;
};

}  // namespace

TEST_P(Contract, C304_ACheckpointHasWhatIsKnownOfItsSnapshot) {
  Create();
  const Receipt receipt = RunTurn({Text("a"), Text("b")});
  const Head head = LoadHead();
  CheckpointPut put = Named(CheckpointAt(head, receipt.revision), "good");
  put.checkpoint.labels = {{"step", int64_t{7}}};
  put.checkpoint.turn = receipt.turn;
  put.checkpoint.history = head.history;
  put.checkpoint.status = CheckpointStatus::kRejected;
  const Receipt pinned = Apply(OfCheckpoints(changes(), head, {put}));
  EXPECT_EQ(pinned.snapshot, receipt.revision);
  EXPECT_EQ(pinned.revision, receipt.revision);  // it moves none
  const Checkpoints there(Items(AllCheckpoints()).items);
  ASSERT_EQ(there.all().size(), 1U);
  const Checkpoint& checkpoint = there.all().front();
  EXPECT_EQ(checkpoint.kind, CheckpointKind::kManual);
  EXPECT_EQ(checkpoint.name, "good");
  EXPECT_EQ(checkpoint.labels, put.checkpoint.labels);
  EXPECT_EQ(checkpoint.status, CheckpointStatus::kRejected);
  EXPECT_EQ(checkpoint.history, head.history);
  EXPECT_EQ(checkpoint.snapshot.record.messages, MessageSeq(2));
  EXPECT_THAT(there.names(), ElementsAre("good=" + std::to_string(receipt.revision.value())));
}

TEST_P(Contract, C305_AChangePinsTheSnapshotThatItWrites) {
  Create();
  const TurnNumber turn = Begin();
  Change commit = changes().CommitTurn(token(), turn);
  commit.messages = {Text("a"), Text("b")};
  CheckpointPut put{.of_this_snapshot = true, .takes_name = true};
  put.checkpoint.name = "end";
  const Receipt receipt = Apply(WithCheckpoints(std::move(commit), LoadHead(), {put}));
  const Head head = LoadHead();
  const Checkpoints there(Items(AllCheckpoints()).items);
  ASSERT_EQ(there.all().size(), 1U);
  const Checkpoint& checkpoint = there.all().front();
  EXPECT_EQ(checkpoint.revision(), receipt.revision);
  EXPECT_EQ(checkpoint.turn, turn);
  EXPECT_EQ(checkpoint.history, head.history);
  EXPECT_EQ(checkpoint.snapshot.record.generation, head.generation);
  EXPECT_EQ(checkpoint.snapshot.record.messages, MessageSeq(2));
  EXPECT_THAT(there.names(), ElementsAre("end=" + std::to_string(receipt.revision.value())));
}

TEST_P(Contract, C306_ACheckpointIsDeletedWithItsName) {
  Create();
  const Revision first = RunTurn({Text("a")}).revision;
  const Revision second = RunTurn({Text("b")}).revision;
  Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {Named(CheckpointAt(head, first), "one")}));
  head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {Named(CheckpointAt(head, second), "two")}));
  Apply(OfCheckpoints(
      changes(), LoadHead(), {},
      {CheckpointItemName(CheckpointKind::kManual, first), CheckpointNameItemName("one")}));
  const Checkpoints there(Items(AllCheckpoints()).items);
  EXPECT_THAT(there.revisions(), ElementsAre(second.value()));
  EXPECT_THAT(there.names(), ElementsAre("two=" + std::to_string(second.value())));
}

TEST_P(Contract, C307_TheHeadCountsCheckpoints) {
  Create();
  const Revision first = RunTurn({Text("a")}).revision;
  const Head none = LoadHead();
  EXPECT_EQ(none.checkpoints, CheckpointSummary());
  Apply(OfCheckpoints(changes(), none,
                      {{.checkpoint = CheckpointAt(none, first)},
                       {.checkpoint = CheckpointAt(none, first, CheckpointKind::kInterrupted)}}));
  Head head = LoadHead();
  const OwnCheckpoint own{.kind = CheckpointKind::kInterrupted, .revision = first};
  EXPECT_EQ(head.checkpoints, (CheckpointSummary{.version = 1, .manual = 1, .own = {own}}));
  Apply(OfCheckpoints(changes(), head, {}, {CheckpointItemName(CheckpointKind::kManual, first)}));
  Reopen();
  head = LoadHead();
  EXPECT_EQ(head.checkpoints, (CheckpointSummary{.version = 2, .manual = 0, .own = {own}}));
}

TEST_P(Contract, C308_APremiseAboutCheckpointsMoves) {
  Create();
  const Revision first = RunTurn({Text("a")}).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, first)}}));
  const auto moved = store().Commit(OfCheckpoints(
      changes(), head, {{.checkpoint = CheckpointAt(head, first, CheckpointKind::kInterrupted)}}));
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->kind, CommitResult::Kind::kMoved);
  EXPECT_EQ(moved->head.checkpoints.version, 1U);
  EXPECT_EQ(LoadHead().checkpoints.version, 1U);
}

TEST_P(Contract, C309_ANameIsTakenOnce) {
  Create();
  const Revision first = RunTurn({Text("a")}).revision;
  const Revision second = RunTurn({Text("b")}).revision;
  Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {Named(CheckpointAt(head, first), "one")}));
  head = LoadHead();
  const auto refused =
      store().Commit(OfCheckpoints(changes(), head, {Named(CheckpointAt(head, second), "one")}));
  EXPECT_EQ(ReasonIn(refused), "STALE_REVISION");
  EXPECT_EQ(FactIn(RefusalIn(refused), "what"), "item");
  const Checkpoints there(Items(AllCheckpoints()).items);
  EXPECT_THAT(there.revisions(), ElementsAre(first.value()));
  EXPECT_EQ(LoadHead().checkpoints.version, 1U);
  // Free again, it may be taken.
  Apply(OfCheckpoints(changes(), head, {}, {CheckpointNameItemName("one")}));
  head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {Named(CheckpointAt(head, second), "one")}));
}

TEST_P(Contract, C310_CheckpointsAreThereWhenTheStoreIsOpenedAgain) {
  Create();
  const Revision first = RunTurn({Text("a")}).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {Named(CheckpointAt(head, first), "one")}));
  for (int opened = 0; opened < 2; ++opened) {
    Reopen();
    const Checkpoints there(Items(AllCheckpoints()).items);
    EXPECT_THAT(there.revisions(), ElementsAre(first.value()));
    EXPECT_THAT(there.names(), ElementsAre("one=" + std::to_string(first.value())));
  }
}

namespace {

// Turns behind which no snapshot that was there before is one of the newest.
constexpr size_t kManyTurns = 3 * kSnapshotsKeptDefault;

}  // namespace

TEST_P(Contract, C311_APinnedSnapshotIsReadHoweverManyFollow) {
  Create();
  const Revision pinned = RunTurn({Text("a"), Text("b")}, {MakeSlot("memory", "then")}).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, pinned)}}));
  for (size_t turn = 0; turn < kManyTurns; ++turn) {
    RunTurn({Text("more")}, {MakeSlot("memory", "now")});
  }
  EXPECT_THAT(MessageTexts(pinned), ElementsAre("a", "b"));
  EXPECT_EQ(SlotData("memory", pinned), "then");
  const auto page = store().ReadMessages(key(), pinned, MessageSeq(1), kWholePage);
  ASSERT_EQ(ReasonIn(page), "OK");
  EXPECT_EQ(page->newest, MessageSeq(2));
  EXPECT_EQ(page->at.revision, pinned);
  EXPECT_EQ(page->messages.size(), 1U);
  EXPECT_EQ(Slots({.revision = pinned}).size(), 2U);  // the store's own too
}

TEST_P(Contract, C312_AReplacedHistoryStaysWhereItIsPinned) {
  Create();
  const Revision pinned = RunTurn({Text("a"), Text("b")}).revision;
  const Revision unpinned = RunTurn({Text("c")}).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, pinned)}}));
  Change replace = changes().Write(token());
  replace.replaces_history = true;
  replace.messages = {Text("x")};
  Apply(replace);
  for (size_t turn = 0; turn < kManyTurns; ++turn) RunTurn({Text("more")});
  EXPECT_THAT(MessageTexts(pinned), ElementsAre("a", "b"));
  EXPECT_EQ(ReasonIn(store().ReadMessages(key(), unpinned, MessageSeq(), kWholePage)),
            "REVISION_PRUNED");
  EXPECT_EQ(MessageTexts().size(), 1 + kManyTurns);
}

TEST_P(Contract, C313_APinnedHistoryMayBeginWithEarlierOnes) {
  Create();
  RunTurn({Text("a"), Text("b"), Text("c")});
  Change restore = changes().Write(token());
  restore.restores = HistoryCut{.generation = Generation(1),
                                .messages = MessageSeq(2),
                                .digest = ExtendHistory(ExtendHistory({}, Text("a")), Text("b"))};
  restore.messages = {Text("x")};
  const Revision pinned = Apply(restore).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, pinned)}}));
  Change replace = changes().Write(token());
  replace.replaces_history = true;
  replace.messages = {Text("y")};
  Apply(replace);
  for (size_t turn = 0; turn < kManyTurns; ++turn) RunTurn({Text("more")});
  EXPECT_THAT(MessageTexts(pinned), ElementsAre("a", "b", "x"));
  // It is restored itself, from where the checkpoint says it is.
  const Checkpoints there(Items(AllCheckpoints()).items);
  ASSERT_EQ(there.all().size(), 1U);
  const PinnedSnapshot& snapshot = there.all().front().snapshot;
  Change again = changes().Write(token());
  again.restores = HistoryCut{.generation = snapshot.record.generation,
                              .messages = MessageSeq(3),
                              .digest = head.history,
                              .spans = snapshot.spans};
  again.restores->spans.push_back(
      {.generation = snapshot.record.generation, .last = MessageSeq(3)});
  again.messages = {Text("z")};
  Apply(again);
  EXPECT_THAT(MessageTexts(), ElementsAre("a", "b", "x", "z"));
  EXPECT_EQ(LoadHead().history, ExtendHistory(head.history, Text("z")));
}

TEST_P(Contract, C314_APinnedSnapshotIsReadWhenTheStoreIsOpenedAgain) {
  Create();
  const Revision pinned =
      RunTurn({Text("a")}, {MakeSlot("memory", "then"), MakeSlot("other", "o")}).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, pinned)}}));
  Change replace = changes().Write(token());
  replace.replaces_history = true;
  replace.messages = {Text("x")};
  Apply(replace);
  for (int opened = 0; opened < 3; ++opened) {
    for (size_t turn = 0; turn < kManyTurns; ++turn) {
      RunTurn({Text("more")}, {MakeSlot("memory", "now")});
    }
    EXPECT_THAT(MessageTexts(pinned), ElementsAre("a")) << opened;
    EXPECT_EQ(SlotData("memory", pinned), "then") << opened;
    EXPECT_EQ(SlotData("other", pinned), "o") << opened;
    Reopen();
  }
}

TEST_P(Contract, C315_RevisionsBesideAPinnedSnapshotArePruned) {
  Create();
  const Revision before = RunTurn({Text("a")}).revision;
  const Revision pinned = RunTurn({Text("b")}).revision;
  const Revision behind = RunTurn({Text("c")}).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, pinned)}}));
  for (size_t turn = 0; turn < kManyTurns; ++turn) RunTurn({Text("more")});
  const Revision oldest = OldestKept(LoadHead()).revision;
  for (const Revision revision : {before, pinned.Next(), behind}) {
    const auto page = store().ReadMessages(key(), revision, MessageSeq(), kWholePage);
    EXPECT_EQ(ReasonIn(page), "REVISION_PRUNED") << revision.value();
    EXPECT_EQ(FactIn(page.status(), "oldest"), std::to_string(oldest.value()));
    EXPECT_EQ(ReasonIn(store().ReadSlots(key(), {.revision = revision})), "REVISION_PRUNED");
  }
}

TEST_P(Contract, C316_ASnapshotThatIsPinnedNoMoreIsPruned) {
  Create();
  const Revision pinned = RunTurn({Text("a")}, {MakeSlot("memory", "then")}).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, pinned)}}));
  for (size_t turn = 0; turn < kManyTurns; ++turn) {
    RunTurn({Text("more")}, {MakeSlot("memory", "now")});
  }
  EXPECT_EQ(SlotData("memory", pinned), "then");
  Apply(OfCheckpoints(changes(), LoadHead(), {},
                      {CheckpointItemName(CheckpointKind::kManual, pinned)}));
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_EQ(ReasonIn(store().ReadMessages(key(), pinned, MessageSeq(), kWholePage)),
              "REVISION_PRUNED");
    EXPECT_EQ(ReasonIn(store().ReadSlots(key(), {.revision = pinned})), "REVISION_PRUNED");
    EXPECT_EQ(SlotData("memory"), "now");
    Reopen();
  }
}

TEST_P(Contract, C317_ASnapshotStaysWhileOneCheckpointPinsIt) {
  Create();
  const Revision pinned = RunTurn({Text("a")}, {MakeSlot("memory", "then")}).revision;
  const Head head = LoadHead();
  Apply(
      OfCheckpoints(changes(), head,
                    {{.checkpoint = CheckpointAt(head, pinned)},
                     {.checkpoint = CheckpointAt(head, pinned, CheckpointKind::kBeforeRestore)}}));
  for (size_t turn = 0; turn < kManyTurns; ++turn) {
    RunTurn({Text("more")}, {MakeSlot("memory", "now")});
  }
  Apply(OfCheckpoints(changes(), LoadHead(), {},
                      {CheckpointItemName(CheckpointKind::kManual, pinned)}));
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_THAT(MessageTexts(pinned), ElementsAre("a"));
    EXPECT_EQ(SlotData("memory", pinned), "then");
    Reopen();
  }
}

TEST_P(Contract, C318_WhatWasStagedOfAPinnedSnapshotIsReadable) {
  Create();
  const std::string bytes(300'000, 's');
  const UploadId id = *UploadId::Parse(UuidText(random().Bytes(16), 4));
  ASSERT_EQ(ReasonIn(store().StageUpload(key(), id, 0, bytes)), "OK");
  Change write = changes().Write(token());
  const StagedBytes place{.upload = id, .size = bytes.size(), .digest = Sha256(bytes)};
  Slot slot = MakeSlot("memory", "");
  slot.staged = place;
  write.slots = {slot};
  write.upload = UploadLink{.id = id, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
  const Revision pinned = Apply(write).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, pinned)}}));
  for (size_t turn = 0; turn < kManyTurns; ++turn) RunTurn({}, {MakeSlot("memory", "now")});
  for (int opened = 0; opened < 2; ++opened) {
    const auto slots = Slots({.revision = pinned, .owners = {"memory"}});
    ASSERT_EQ(slots.size(), 1U);
    ASSERT_TRUE(slots.front().slot.staged);
    const auto read = store().ReadStaged(key(), place, 0, bytes.size());
    ASSERT_EQ(ReasonIn(read), "OK");
    EXPECT_EQ(*read, bytes);
    Reopen();
  }
}

TEST_P(Contract, C319_PinnedSlotsAreAsTheyWere) {
  Create();
  RunTurn({}, {MakeSlot("stays", "s"), MakeSlot("goes", "g"), MakeSlot("back", "b1")});
  Change write = changes().Write(token());
  write.deleted_slots = {"back"};
  const Revision pinned = Apply(write).revision;
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {{.checkpoint = CheckpointAt(head, pinned)}}));
  write = changes().Write(token());
  write.slots = {MakeSlot("back", "b2"), MakeSlot("new", "n")};
  write.deleted_slots = {"goes"};
  Apply(write);
  for (size_t turn = 0; turn < kManyTurns; ++turn) RunTurn({Text("more")});
  for (int opened = 0; opened < 2; ++opened) {
    std::vector<std::string> owners;
    for (const SlotView& view : Slots({.revision = pinned})) owners.push_back(view.slot.owner);
    EXPECT_THAT(owners, ElementsAre("goes", kStoreSlotOwner, "stays"));
    EXPECT_EQ(SlotData("goes", pinned), "g");
    EXPECT_EQ(SlotData("back", pinned), std::nullopt);
    EXPECT_EQ(SlotData("new", pinned), std::nullopt);
    EXPECT_EQ(SlotData("goes"), std::nullopt);
    EXPECT_EQ(SlotData("back"), "b2");
    Reopen();
  }
}

TEST_P(Contract, C320_ARowNamesTheSessionsUid) {
  Create();
  Reopen();
  const std::vector<SessionRow> rows = Rows({.tenant = key().tenant, .limit = 10});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().uid, LoadHead().uid);
}

}  // namespace holdfast::test
