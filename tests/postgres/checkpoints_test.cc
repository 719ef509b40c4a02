// What a prune leaves of a session with checkpoints, and what reads of pinned snapshots cost.
#include "session/limits.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/checkpoint_changes.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

class PgCheckpoints : public PostgresStoreTest {
 protected:
  std::string Count(const std::string& of) {
    return database().AskText(absl::StrCat("SELECT count(*)::text FROM holdfast.", of));
  }
  Head Loaded() {
    const auto loaded = store().LoadForDecision(key(), std::nullopt);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? loaded->head : Head();
  }
  Revision Write(const std::string& text, bool replaces) {
    Change write = changes().Write(token());
    write.messages = {Text(text)};
    write.slots = {MakeSlot("memory", text)};
    write.replaces_history = replaces;
    return Apply(write).revision;
  }
  // Snapshots behind which none of those before is one of the newest.
  void WriteMany() {
    for (size_t i = 0; i < 2 * kSnapshotsKeptDefault; ++i) Write("more", false);
  }
  // A prune of what there is by now, with all that it has to do.
  void CloseAndPrune(const std::string& of, const std::string& left) {
    Apply(changes().Close(token()));
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return Count(of) == left; }))
        << Count(of) << " of " << of;
  }
};

TEST_F(PgCheckpoints, APruneKeepsWhatIsPinned) {
  Create();
  Write("before", false);
  const Revision pinned = Write("pinned", true);
  Apply(OfCheckpoints(changes(), Loaded(), {{.checkpoint = CheckpointAt(Loaded(), pinned)}}));
  Write("behind", false);
  Write("now", true);
  WriteMany();
  // Of the slot the newest ten, and the pinned one; of messages nothing of the first history.
  CloseAndPrune("slot WHERE owner = 'memory'", absl::StrCat(kSnapshotsKeptDefault + 1));
  EXPECT_TRUE(holdfast::testing::WaitUntil(
      [&] { return Count("log WHERE generation = 1 AND msgs IS NOT NULL") == "0"; }));
  // Of its history the pinned message, and none behind it.
  EXPECT_TRUE(holdfast::testing::WaitUntil(
      [&] { return Count("log WHERE generation = 2 AND msgs IS NOT NULL") == "1"; }));
  statements().Take();
  const auto page = store().ReadMessages(key(), pinned, MessageSeq(), {.items = 10, .bytes = 1000});
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->messages.size(), 1U);
  EXPECT_EQ(page->messages[0].data, "pinned");
  const auto slots = store().ReadSlots(key(), {.revision = pinned, .owners = {"memory"}});
  ASSERT_TRUE(slots.ok()) << slots.status();
  ASSERT_EQ(slots->slots.size(), 1U);
  EXPECT_EQ(slots->slots[0].slot.data, "pinned");
}

TEST_F(PgCheckpoints, WhatIsPinnedNoMoreGoes) {
  Create();
  const Revision pinned = Write("pinned", false);
  Apply(OfCheckpoints(changes(), Loaded(), {{.checkpoint = CheckpointAt(Loaded(), pinned)}}));
  Write("now", true);
  WriteMany();
  CloseAndPrune("slot WHERE owner = 'memory'", absl::StrCat(kSnapshotsKeptDefault + 1));
  EXPECT_EQ(Count("log WHERE generation = 1 AND msgs IS NOT NULL"), "1");
  // A change that unpins is followed by a prune, although it moves no revision.
  Apply(OfCheckpoints(changes(), Loaded(), {},
                      {CheckpointItemName(CheckpointKind::kManual, pinned)}));
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
    return Count("slot WHERE owner = 'memory'") == absl::StrCat(kSnapshotsKeptDefault) &&
           Count("log WHERE generation = 1 AND msgs IS NOT NULL") == "0";
  }));
}

// Also by a change that pins another snapshot, and deletes no checkpoint by name.
TEST_F(PgCheckpoints, WhatAnOwnCheckpointKeptGoesWithIt) {
  Create();
  const Revision pinned = Write("pinned", false);
  const auto pin = [&](bool replaces) {
    Change write = changes().Write(token());
    write.messages = {Text("more")};
    write.replaces_history = replaces;
    write.pins_previous = CheckpointKind::kBeforeRestore;
    Apply(write);
  };
  pin(true);
  WriteMany();
  for (uint64_t pins = 1; pins < kOwnCheckpointsKept; ++pins) pin(false);
  const auto page = store().ReadMessages(key(), pinned, MessageSeq(), {.items = 10, .bytes = 1000});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->messages.size(), 1U);
  pin(false);
  EXPECT_TRUE(holdfast::testing::WaitUntil(
      [&] { return Count("log WHERE generation = 1 AND msgs IS NOT NULL") == "0"; }));
}

TEST_F(PgCheckpoints, AnAbandonedTurnIsOneStatement) {
  Create();
  const auto abandon = [&] {
    Change change = changes().Abandon(token(), Begin());
    change.pins_previous = CheckpointKind::kInterrupted;
    statements().Take();
    Apply(change);
    return statements().Take();
  };
  EXPECT_THAT(abandon(), ElementsAre("change_items"));
  EXPECT_EQ(Count("item"), "1");
  // The snapshot is pinned by now.
  EXPECT_THAT(abandon(), ElementsAre("change"));
  EXPECT_EQ(Count("item"), "1");
}

TEST_F(PgCheckpoints, ADeletionStaysAsLongAsItHidesAPinnedSlot) {
  Create();
  const Revision pinned = Write("pinned", false);
  Apply(OfCheckpoints(changes(), Loaded(), {{.checkpoint = CheckpointAt(Loaded(), pinned)}}));
  Change write = changes().Write(token());
  write.deleted_slots = {"memory"};
  Apply(write);
  for (size_t i = 0; i < 2 * kSnapshotsKeptDefault; ++i) Apply(changes().Write(token()));
  CloseAndPrune(absl::StrCat("slot WHERE owner = '", kStoreSlotOwner, "'"),
                absl::StrCat(kSnapshotsKeptDefault + 1));
  EXPECT_EQ(Count("slot WHERE owner = 'memory'"), "2");
  const auto now = store().ReadSlots(key(), {.owners = {"memory"}});
  ASSERT_TRUE(now.ok());
  EXPECT_TRUE(now->slots.empty());
  const auto then = store().ReadSlots(key(), {.revision = pinned, .owners = {"memory"}});
  ASSERT_TRUE(then.ok());
  EXPECT_EQ(then->slots.size(), 1U);
  Apply(OfCheckpoints(changes(), Loaded(), {},
                      {CheckpointItemName(CheckpointKind::kManual, pinned)}));
  EXPECT_TRUE(
      holdfast::testing::WaitUntil([&] { return Count("slot WHERE owner = 'memory'") == "0"; }));
}

// A read looks for a pin only where its revision is older than the newest snapshots.
TEST_F(PgCheckpoints, ReadsAtAPinnedRevisionTakeAStatementMore) {
  Create();
  const Revision pinned = Write("pinned", false);
  Apply(OfCheckpoints(changes(), Loaded(), {{.checkpoint = CheckpointAt(Loaded(), pinned)}}));
  WriteMany();
  const auto read = [&](std::optional<Revision> revision) {
    statements().Take();
    EXPECT_TRUE(store().ReadSlots(key(), {.revision = revision, .owners = {"memory"}}).ok());
    return statements().Take();
  };
  EXPECT_THAT(read(std::nullopt), ElementsAre("slots_of"));
  EXPECT_THAT(read(OldestKept(Loaded()).revision), ElementsAre("slots_of"));
  EXPECT_THAT(read(pinned), ElementsAre("slots_of", "pins_of"));
}

// As many as a session may have.
TEST_F(PgCheckpoints, ASessionWithManyWorksAsOneWithout) {
  Create();
  const auto work = [&] {
    statements().Take();
    const LeaseToken next = *LeaseToken::Parse(Apply(changes().Resume(LeaseRule::kForce)).token);
    const TurnNumber turn = Apply(changes().Begin(next)).turn;
    Apply(changes().CommitTurn(next, turn));
    EXPECT_TRUE(store().ReadSlots(key(), {.owners = {"memory"}}).ok());
    return statements().Take();
  };
  const std::vector<std::string> without = work();
  const Revision pinned = Loaded().revision;
  Head head = Loaded();
  std::vector<CheckpointPut> puts;
  for (uint64_t number = 0; number < kCheckpointsPerSession; ++number) {
    Checkpoint checkpoint = CheckpointAt(head, pinned);
    checkpoint.snapshot.record.at.revision = Revision(1000 + number);
    puts.push_back({.checkpoint = std::move(checkpoint)});
  }
  Apply(OfCheckpoints(changes(), head, std::move(puts)));
  EXPECT_EQ(Loaded().checkpoints.manual, kCheckpointsPerSession);
  EXPECT_EQ(work(), without);
}

// An unnamed checkpoint is one item of the commit's own statement, and a named one two.
TEST_F(PgCheckpoints, ACommitWithACheckpointIsOneStatement) {
  Create();
  const TurnNumber turn = Begin();
  const Head head = Loaded();
  statements().Take();
  CheckpointPut put{.of_this_snapshot = true, .takes_name = true};
  put.checkpoint.name = "end";
  Apply(WithCheckpoints(changes().CommitTurn(token(), turn), head, {put}));
  EXPECT_THAT(statements().Take(), ElementsAre("change_items"));
  EXPECT_EQ(Count("item"), "2");
}

}  // namespace
}  // namespace holdfast::test
