// Checkpoints of the server's own kinds, and what the head says of compactions and contexts.
#include "session/checkpoint.h"
#include "session/limits.h"
#include "tests/contract/suite.h"
#include "tests/support/checkpoint_changes.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr CheckpointKind kCompacted = CheckpointKind::kPreCompaction;
constexpr CheckpointKind kInterrupted = CheckpointKind::kInterrupted;

// Those that items are, by kind and then by revision.
std::vector<Checkpoint> Decoded(const std::vector<ItemView>& views) {
  std::vector<Checkpoint> all;
  for (const ItemView& view : views) {
    if (const auto checkpoint = DecodeCheckpoint(view.item)) all.push_back(*checkpoint);
  }
  return all;
}

std::vector<OwnCheckpoint> OwnOf(const std::vector<Checkpoint>& all) {
  std::vector<OwnCheckpoint> own;
  for (const Checkpoint& one : all) own.push_back({.kind = one.kind, .revision = one.revision()});
  return own;
}

ItemQuery OwnItems() { return {.collection = kCheckpointCollection, .data = true}; }

// The commit of a compaction in the turn.
Change Compacting(Change commit) {
  commit.compacts = true;
  commit.pins_previous = kCompacted;
  commit.replaces_history = true;
  return commit;
}

Change Pinning(Change change, CheckpointKind kind) {
  change.pins_previous = kind;
  return change;
}

}  // namespace

TEST_P(Contract, C321_AChangePinsTheSnapshotBeforeIt) {
  Create();
  const Receipt first = RunTurn({Text("a"), Text("b")}, {MakeSlot("plan", "one")});
  const Head before = LoadHead();
  Change compaction = Compacting(changes().CommitTurn(token(), Begin()));
  compaction.messages = {Text("summary")};
  Apply(compaction);
  const std::vector<Checkpoint> there = Decoded(Items(OwnItems()).items);
  ASSERT_EQ(there.size(), 1U);
  EXPECT_EQ(there.front().kind, kCompacted);
  EXPECT_EQ(there.front().revision(), first.revision);
  EXPECT_EQ(there.front().turn, TurnNumber(1));
  EXPECT_EQ(there.front().history, before.history);
  EXPECT_EQ(there.front().snapshot.record.generation, before.generation);
  EXPECT_EQ(there.front().snapshot.record.messages, MessageSeq(2));
  for (size_t i = 0; i <= kSnapshotsKeptDefault; ++i) RunTurn({}, {MakeSlot("plan", "later")});
  EXPECT_GT(OldestKept(LoadHead()).revision, first.revision);
  EXPECT_THAT(MessageTexts(first.revision), ElementsAre("a", "b"));
  EXPECT_EQ(SlotData("plan", first.revision), "one");
}

TEST_P(Contract, C322_TheOldestOfAnOwnKindGoes) {
  Create();
  Apply(Pinning(changes().Write(token()), CheckpointKind::kBeforeRestore));
  std::vector<Revision> snapshots = {LoadHead().snapshots.back().at.revision};
  for (uint64_t i = 0; i < kOwnCheckpointsKept + 2; ++i) {
    snapshots.push_back(Apply(Pinning(changes().Write(token()), kInterrupted)).revision);
  }
  Reopen();
  std::vector<Revision> kept;
  std::vector<CheckpointKind> others;
  for (const Checkpoint& one : Decoded(Items(OwnItems()).items)) {
    one.kind == kInterrupted ? kept.push_back(one.revision()) : others.push_back(one.kind);
  }
  // The last snapshot is pinned by none, and the two oldest are no more.
  EXPECT_EQ(kept, std::vector<Revision>(snapshots.begin() + 2, snapshots.end() - 1));
  EXPECT_THAT(others, ElementsAre(CheckpointKind::kBeforeRestore));
}

TEST_P(Contract, C323_WhatIsPinnedSoAlreadyIsNotWrittenAgain) {
  Create();
  RunTurn({Text("a")});
  Apply(Pinning(changes().Abandon(token(), Begin()), kInterrupted));
  const Head head = LoadHead();
  Apply(Pinning(changes().Abandon(token(), Begin()), kInterrupted));
  const Head after = LoadHead();
  EXPECT_EQ(after.checkpoints, head.checkpoints);
  EXPECT_EQ(after.items_version, head.items_version);
  EXPECT_EQ(Items(OwnItems()).items.size(), 1U);
  // Of another kind it is another checkpoint.
  Apply(Compacting(changes().CommitTurn(token(), Begin())));
  EXPECT_EQ(Items(OwnItems()).items.size(), 2U);
}

TEST_P(Contract, C324_TheHeadNamesOwnCheckpoints) {
  Create();
  const Receipt first = RunTurn({Text("a")});
  EXPECT_THAT(LoadHead().checkpoints.own, IsEmpty());
  Apply(Pinning(changes().Abandon(token(), Begin()), kInterrupted));
  const Receipt second = Apply(Compacting(changes().CommitTurn(token(), Begin())));
  Apply(Pinning(changes().Abandon(token(), Begin()), kInterrupted));
  for (int opened = 0; opened < 2; ++opened) {
    const CheckpointSummary checkpoints = LoadHead().checkpoints;
    EXPECT_EQ(checkpoints.version, 3U);
    EXPECT_EQ(checkpoints.manual, 0U);
    EXPECT_THAT(checkpoints.own,
                ElementsAre(OwnCheckpoint{.kind = kInterrupted, .revision = first.revision},
                            OwnCheckpoint{.kind = kCompacted, .revision = first.revision},
                            OwnCheckpoint{.kind = kInterrupted, .revision = second.revision}));
    std::vector<OwnCheckpoint> named = checkpoints.own;
    std::ranges::sort(named, {},
                      [](const OwnCheckpoint& own) { return std::pair(own.kind, own.revision); });
    EXPECT_EQ(named, OwnOf(Decoded(Items(OwnItems()).items)));
    Reopen();
  }
  Apply(
      OfCheckpoints(changes(), LoadHead(), {}, {CheckpointItemName(kInterrupted, first.revision)}));
  EXPECT_THAT(LoadHead().checkpoints.own,
              ElementsAre(OwnCheckpoint{.kind = kCompacted, .revision = first.revision},
                          OwnCheckpoint{.kind = kInterrupted, .revision = second.revision}));
}

TEST_P(Contract, C325_TheHeadCountsCompactions) {
  Create();
  RunTurn({Text("a")});
  EXPECT_EQ(LoadHead().compactions, 0U);
  Change compaction = Compacting(changes().CommitTurn(token(), Begin()));
  compaction.events.push_back({.name = "SessionCompacted", .given = {Given::kCompactions}});
  Apply(compaction);
  Apply(Compacting(changes().Write(token())));
  Reopen();
  EXPECT_EQ(LoadHead().compactions, 2U);
  const std::vector<Event> events = Events();
  const auto shown = std::ranges::find(events, "SessionCompacted", &Event::name);
  ASSERT_NE(shown, events.end());
  EXPECT_EQ(shown->payload.at("count"), "1");
}

TEST_P(Contract, C326_TheHeadCountsContexts) {
  Create();
  EXPECT_EQ(LoadHead().context_number, 1U);  // of the grant
  RunTurn({Text("a"), Text("b")});
  Apply(Pinning(changes().Abandon(token(), Begin()), kInterrupted));
  EXPECT_EQ(LoadHead().context_number, 1U);
  Apply(Compacting(changes().Write(token())));
  EXPECT_EQ(LoadHead().context_number, 2U);
  TakeOver();
  EXPECT_EQ(LoadHead().context_number, 3U);
  Change restore = changes().Write(token());
  restore.restores = HistoryCut{.generation = LoadHead().generation};
  Apply(restore);
  Reopen();
  EXPECT_EQ(LoadHead().context_number, 4U);
}

TEST_P(Contract, C327_TheHeadNamesTheTurnOfItsNewestSnapshot) {
  Create();
  EXPECT_EQ(LoadHead().snapshot_turn, TurnNumber());
  RunTurn({Text("a")});
  EXPECT_EQ(LoadHead().snapshot_turn, TurnNumber(1));
  const TurnNumber turn = Begin();
  Apply(changes().KeepTurn(token(), turn));
  Apply(changes().Abandon(token(), turn));
  Reopen();
  EXPECT_EQ(LoadHead().snapshot_turn, turn);
  Apply(changes().Write(token()));
  EXPECT_EQ(LoadHead().snapshot_turn, TurnNumber());
}

TEST_P(Contract, C328_ACommitOfATurnReplacesTheHistory) {
  Create();
  const Receipt first = RunTurn({Text("a"), Text("b")}, {MakeSlot("plan", "one")});
  const Generation before = LoadHead().generation;
  const TurnNumber turn = Begin();
  Append(turn, {SlotUpdate(turn, 1, MakeSlot("memory", "m"))});
  Change commit = changes().CommitTurn(token(), turn);
  commit.replaces_history = true;
  commit.messages = {Text("summary")};
  const Receipt receipt = Apply(commit);
  EXPECT_EQ(receipt.last_entry, EntryNumber(1));
  EXPECT_EQ(receipt.messages, MessageSeq(1));
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_EQ(LoadHead().generation, before.Next());
    EXPECT_THAT(MessageTexts(), ElementsAre("summary"));
    EXPECT_THAT(MessageTexts(first.revision), ElementsAre("a", "b"));
    EXPECT_EQ(SlotData("plan"), "one");
    EXPECT_EQ(SlotData("memory"), "m");
    Reopen();
  }
  RunTurn({Text("next")});
  EXPECT_THAT(MessageTexts(), ElementsAre("summary", "next"));
}

TEST_P(Contract, C329_CheckpointsArePutWhereItemsAreFull) {
  under_test().SetItemBounds({.items = 2, .bytes = 200});
  Reopen();
  Create();
  const Receipt first = RunTurn({Text("a")});
  PutItems({Put("1", "x"), Put("2", "y")});
  Apply(Pinning(changes().Abandon(token(), Begin()), kInterrupted));
  const Head head = LoadHead();
  Apply(OfCheckpoints(changes(), head, {Named(CheckpointAt(head, first.revision), "good")}));
  EXPECT_EQ(Decoded(Items(OwnItems()).items).size(), 2U);
  EXPECT_EQ(ReasonIn(RefusedItems({.puts = {Put("3", "")}})), "TOO_LARGE");
}

}  // namespace holdfast::test
