// Checkpoints as the domain decides them: names, changes, bounds, and what restores make of them.
#include "session/checkpoint_reads.h"
#include "session/limits.h"
#include "session/names.h"
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PutCheckpointCommand ToPut(World& world, std::optional<std::string> name = std::nullopt,
                           std::optional<Revision> revision = std::nullopt) {
  PutCheckpointCommand command{.request = world.NewRequest(), .session = world.id()};
  command.name = std::move(name);
  command.revision = revision;
  return command;
}

CheckpointResult Put(World& world, std::optional<std::string> name = std::nullopt,
                     std::optional<Revision> revision = std::nullopt) {
  const auto put =
      world.sessions().PutCheckpoint(world.caller(), ToPut(world, std::move(name), revision));
  EXPECT_EQ(ReasonIn(put), "OK") << put.status();
  return put.ok() ? *put : CheckpointResult();
}

std::string Refused(World& world, const PutCheckpointCommand& command) {
  return ReasonIn(world.sessions().PutCheckpoint(world.caller(), command));
}

absl::StatusOr<MutationResult> Delete(World& world, const std::string& name,
                                      std::optional<Revision> revision = std::nullopt) {
  DeleteCheckpointCommand command{.request = world.NewRequest(), .session = world.id()};
  command.name = name;
  command.revision = revision;
  return world.sessions().DeleteCheckpoint(world.caller(), command);
}

// "REVISION kind name" of each, the newest first.
std::vector<std::string> ListedTexts(World& world, CheckpointQuery query = {}) {
  if (query.limit == 0) query.limit = 100;
  std::vector<std::string> texts;
  for (;;) {
    const auto page = ReadCheckpoints(world.store(), world.key(), query);
    EXPECT_EQ(ReasonIn(page), "OK");
    if (!page.ok()) return texts;
    EXPECT_LE(page->checkpoints.size(), query.limit);
    for (const ListedCheckpoint& listed : page->checkpoints) {
      const Checkpoint& checkpoint = listed.checkpoint;
      texts.push_back(std::to_string(checkpoint.revision().value()) + " " +
                      (listed.is_pinned ? Name(checkpoint.kind) : "-") +
                      (checkpoint.name.empty() ? "" : " " + checkpoint.name));
      query.after = listed.place();
    }
    if (page->end) return texts;
  }
}

RestoreCommand ToRestore(World& world, std::optional<Revision> revision) {
  RestoreCommand command{.request = world.NewRequest(), .session = world.id()};
  command.token = world.token();
  command.expected_revision = world.Stored().revision;
  command.point.revision = revision;
  return command;
}

TEST(SessionsCheckpoints, PinTheLastSnapshotUnlessARevisionIsNamed) {
  World world;
  world.Create();
  const Revision first = world.RunTurn({Said("one")}).receipt.revision;
  const Revision second = world.RunTurn({Said("two")}).receipt.revision;
  const CheckpointResult last = Put(world, "last");
  EXPECT_EQ(last.checkpoint.revision(), second);
  EXPECT_EQ(last.checkpoint.turn, TurnNumber(2));
  EXPECT_EQ(last.checkpoint.snapshot.record.messages, MessageSeq(2));
  EXPECT_EQ(last.checkpoint.history, world.Stored().history);
  EXPECT_EQ(last.result.receipt.revision, second);
  // One between two snapshots means the earlier one.
  EXPECT_EQ(Put(world, "first", first.Next()).checkpoint.revision(), first);
  EXPECT_THAT(ListedTexts(world), ElementsAre("5 manual last", "3 manual first"));
  EXPECT_EQ(world.EventNames().back(), "SessionCheckpointed");
  EXPECT_EQ(world.AuditCodes().back(), "checkpoint");
}

TEST(SessionsCheckpoints, AreRefusedWhereThereIsNoSnapshot) {
  World world;
  world.Create();
  EXPECT_EQ(Refused(world, ToPut(world, "x", Revision(7))), "REVISION_AHEAD");
  for (size_t turn = 0; turn < kSnapshotsKeptDefault + 1; ++turn) world.RunTurn();
  EXPECT_EQ(Refused(world, ToPut(world, "x", Revision(1))), "REVISION_PRUNED");
  EXPECT_EQ(Refused(world, ToPut(world, std::string(kCheckpointNameBytes + 1, 'n'))), "TOO_LARGE");
  EXPECT_EQ(Refused(world, ToPut(world, "a\nb")), "INVALID_FIELD");
  PutCheckpointCommand labelled = ToPut(world);
  labelled.labels = ItemLabels{{"", true}};
  EXPECT_EQ(Refused(world, labelled), "INVALID_FIELD");
  EXPECT_THAT(ListedTexts(world), IsEmpty());
}

TEST(SessionsCheckpoints, ARepeatIsAnsweredWithTheSameCheckpoint) {
  World world;
  world.Create();
  const Revision first = world.RunTurn({Said("one")}).receipt.revision;
  const PutCheckpointCommand put = ToPut(world, "one");
  ASSERT_EQ(Refused(world, put), "OK");
  world.RunTurn({Said("two")});
  const auto again = world.other().PutCheckpoint(world.caller(), put);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_TRUE(again->result.repeated);
  EXPECT_EQ(again->checkpoint.revision(), first);
  EXPECT_EQ(again->checkpoint.name, "one");
  PutCheckpointCommand other = put;
  other.name = "two";
  EXPECT_EQ(Refused(world, other), "REQUEST_ID_REUSED");
  // Another request for what is there already writes nothing.
  const uint64_t version = world.Stored().checkpoints.version;
  EXPECT_FALSE(Put(world, "one").result.repeated);
  EXPECT_EQ(world.Stored().checkpoints.version, version);
}

TEST(SessionsCheckpoints, ANameIsOfOneCheckpoint) {
  World world;
  world.Create();
  const Revision first = world.RunTurn().receipt.revision;
  const Revision second = world.RunTurn().receipt.revision;
  Put(world, "one", first);
  const auto taken = world.sessions().PutCheckpoint(world.caller(), ToPut(world, "one", second));
  EXPECT_EQ(ReasonIn(taken), "INVALID_FIELD");
  EXPECT_EQ(FactIn(taken.status(), "field"), "name");
  EXPECT_THAT(std::string(taken.status().message()), ::testing::HasSubstr("revision 3"));
  CommitTurnCommand commit = world.ToCommit(world.Begin());
  commit.checkpoint = CheckpointMark{.name = "one"};
  const auto refused = world.sessions().CommitTurn(world.caller(), commit);
  EXPECT_EQ(ReasonIn(refused), "INVALID_FIELD");
  EXPECT_EQ(FactIn(refused.status(), "field"), "checkpoint.name");
  EXPECT_TRUE(world.Stored().turn.has_value());  // nothing was committed
  commit.checkpoint->name = "two";
  commit.request = world.NewRequest();
  ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), commit)), "OK");
  EXPECT_THAT(ListedTexts(world), ElementsAre("7 manual two", "3 manual one"));
  // Renamed, it leaves its former name to others.
  Put(world, "uno", first);
  Put(world, "one", second);
  EXPECT_THAT(ListedTexts(world), ElementsAre("7 manual two", "5 manual one", "3 manual uno"));
}

TEST(SessionsCheckpoints, ChangeWhatACallSays) {
  World world;
  world.Create();
  const Revision first = world.RunTurn().receipt.revision;
  PutCheckpointCommand put = ToPut(world, "one");
  put.labels = ItemLabels{{"step", int64_t{1}}};
  ASSERT_EQ(Refused(world, put), "OK");
  world.clock().Advance(absl::Minutes(1));
  PutCheckpointCommand reject{.request = world.NewRequest(), .session = world.id()};
  reject.name = "one";
  reject.status = CheckpointStatus::kRejected;
  reject.must_exist = true;
  const auto rejected = world.sessions().PutCheckpoint(world.caller(), reject);
  ASSERT_EQ(ReasonIn(rejected), "OK");
  EXPECT_EQ(rejected->checkpoint.status, CheckpointStatus::kRejected);
  EXPECT_EQ(rejected->checkpoint.labels, put.labels);
  EXPECT_EQ(rejected->checkpoint.name, "one");
  EXPECT_LT(rejected->checkpoint.created_at, world.clock().Wall());  // it stays
  EXPECT_THAT(ListedTexts(world, {.only_valid = true}), IsEmpty());
  EXPECT_THAT(ListedTexts(world, {.labels = {{"step", int64_t{1}}}}), ElementsAre("3 manual one"));
  EXPECT_THAT(ListedTexts(world, {.labels = {{"step", int64_t{2}}}}), IsEmpty());
  // A name that is set to nothing is gone.
  PutCheckpointCommand unnamed{.request = world.NewRequest(), .session = world.id()};
  unnamed.revision = first;
  unnamed.name = "";
  unnamed.must_exist = true;
  ASSERT_EQ(Refused(world, unnamed), "OK");
  EXPECT_THAT(ListedTexts(world), ElementsAre("3 manual"));
  reject.request = world.NewRequest();
  EXPECT_EQ(Refused(world, reject), "RECORD_NOT_FOUND");
  unnamed.request = world.NewRequest();
  unnamed.revision = Revision(1);
  EXPECT_EQ(Refused(world, unnamed), "RECORD_NOT_FOUND");
}

TEST(SessionsCheckpoints, DeletedOnesLeaveTheirNames) {
  World world;
  world.Create();
  const Revision first = world.RunTurn().receipt.revision;
  Put(world, "one");
  ASSERT_EQ(ReasonIn(Delete(world, "one")), "OK");
  EXPECT_EQ(world.AuditCodes().back(), "checkpoint-delete");
  const auto gone = Delete(world, "one");
  EXPECT_EQ(ReasonIn(gone), "RECORD_NOT_FOUND");
  EXPECT_EQ(FactIn(gone.status(), "name"), "one");
  EXPECT_EQ(ReasonIn(Delete(world, "", first)), "RECORD_NOT_FOUND");
  EXPECT_EQ(ReasonIn(Delete(world, "one", first)), "INVALID_FIELD");
  EXPECT_EQ(ReasonIn(Delete(world, "")), "INVALID_FIELD");
  EXPECT_EQ(world.Stored().checkpoints.manual, 0U);
  Put(world, "one");
  EXPECT_THAT(ListedTexts(world), ElementsAre("3 manual one"));
}

TEST(SessionsCheckpoints, ASessionHasABoundedNumber) {
  World world;
  world.Create();
  for (uint64_t number = 0; number < kCheckpointsPerSession; ++number) {
    CommitTurnCommand commit = world.ToCommit(world.Begin());
    commit.checkpoint = CheckpointMark();
    ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), commit)), "OK");
  }
  EXPECT_EQ(world.Stored().checkpoints.manual, kCheckpointsPerSession);
  CommitTurnCommand commit = world.ToCommit(world.Begin());
  commit.checkpoint = CheckpointMark();
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), commit)), "TOO_LARGE");
  commit.checkpoint.reset();
  const auto last = world.sessions().CommitTurn(world.caller(), commit);
  ASSERT_EQ(ReasonIn(last), "OK");
  EXPECT_EQ(Refused(world, ToPut(world)), "TOO_LARGE");
  // What is there can be changed, and read to its end in pages.
  Put(world, "first", Revision(3));
  EXPECT_EQ(ListedTexts(world, {.limit = 7}).size(), kCheckpointsPerSession);
  ASSERT_EQ(ReasonIn(Delete(world, "first")), "OK");
  Put(world, "last");
}

TEST(SessionsCheckpoints, ARestoreOfAPinnedSnapshotTakesItBack) {
  World world;
  world.Create();
  const Revision pinned = world.RunTurn({Said("one"), Said("two")}).receipt.revision;
  Put(world, "good");
  for (size_t turn = 0; turn < 2 * kSnapshotsKeptDefault; ++turn) world.RunTurn({Said("more")});
  RestoreCommand restore = ToRestore(world, std::nullopt);
  restore.point.checkpoint = "good";
  const auto restored = world.sessions().Restore(world.caller(), restore);
  ASSERT_EQ(ReasonIn(restored), "OK") << restored.status();
  EXPECT_THAT(world.Texts(), ElementsAre("one", "two"));
  restore = ToRestore(world, std::nullopt);
  restore.point.checkpoint = "bad";
  EXPECT_EQ(ReasonIn(world.sessions().Restore(world.caller(), restore)), "RECORD_NOT_FOUND");
  restore.point.revision = pinned;
  EXPECT_EQ(ReasonIn(world.sessions().Restore(world.caller(), restore)), "INVALID_FIELD");
}

TEST(SessionsCheckpoints, ARestorePinsWhatWasBeforeIt) {
  World world;
  world.Create();
  const Revision base = world.RunTurn({Said("base")}).receipt.revision;
  Put(world, "base");
  const uint64_t restores = kOwnCheckpointsKept + 3;
  std::vector<Revision> before;
  for (uint64_t number = 0; number < restores; ++number) {
    before.push_back(world.RunTurn({Said("try " + std::to_string(number))}).receipt.revision);
    RestoreCommand restore = ToRestore(world, base);
    restore.pin_previous = true;
    ASSERT_EQ(ReasonIn(world.sessions().Restore(world.caller(), restore)), "OK");
  }
  const auto own = ListedTexts(world, {.kinds = {CheckpointKind::kBeforeRestore}});
  ASSERT_EQ(own.size(), kOwnCheckpointsKept);
  for (size_t i = 0; i < own.size(); ++i) {
    const Revision expected = before[before.size() - 1 - i];
    EXPECT_EQ(own[i], std::to_string(expected.value()) + " before_restore");
  }
  EXPECT_EQ(world.Stored().checkpoints.own.size(), kOwnCheckpointsKept);
  // Each of them can be gone back to, and made a checkpoint of a caller's own.
  const Revision oldest = before[before.size() - kOwnCheckpointsKept];
  EXPECT_EQ(Put(world, "kept", oldest).checkpoint.revision(), oldest);
  RestoreCommand back = ToRestore(world, oldest);
  ASSERT_EQ(ReasonIn(world.sessions().Restore(world.caller(), back)), "OK");
  EXPECT_THAT(world.Texts(),
              ElementsAre("base", "try " + std::to_string(restores - kOwnCheckpointsKept)));
  // A restore that writes nothing pins nothing.
  RestoreCommand same = ToRestore(world, std::nullopt);
  same.pin_previous = true;
  const uint64_t version = world.Stored().checkpoints.version;
  ASSERT_EQ(ReasonIn(world.sessions().Restore(world.caller(), same)), "OK");
  EXPECT_EQ(world.Stored().checkpoints.version, version);
}

TEST(SessionsCheckpoints, TheNewestSnapshotsAreListedBesideThem) {
  World world;
  world.Create();
  world.RunTurn({Said("one")});
  Put(world, "one");
  world.RunTurn({Said("two")});
  EXPECT_THAT(ListedTexts(world, {.include_window = true}),
              ElementsAre("5 -", "3 manual one", "1 -"));
  EXPECT_THAT(ListedTexts(world, {.include_window = true, .limit = 1}),
              ElementsAre("5 -", "3 manual one", "1 -"));
  PutCheckpointCommand reject = ToPut(world, "one");
  reject.status = CheckpointStatus::kRejected;
  ASSERT_EQ(Refused(world, reject), "OK");
  // A rejected one is no snapshot like any other.
  EXPECT_THAT(ListedTexts(world, {.only_valid = true, .include_window = true}),
              ElementsAre("5 -", "1 -"));
}

TEST(SessionsCheckpoints, ACreationMayPinItsSnapshot) {
  World world;
  WriteCommand write{.request = world.NewRequest(), .session = world.id()};
  write.messages = {Said("one")};
  write.checkpoint = CheckpointMark{.name = "start"};
  CreateCommand create = world.ToCreate();
  create.kind = SessionKind::kOpen;
  create.holder.clear();
  create.lease_ttl = absl::ZeroDuration();
  write.create_if_missing = create;
  const auto written = world.sessions().Write(world.caller(), write);
  ASSERT_EQ(ReasonIn(written), "OK") << written.status();
  EXPECT_TRUE(written->receipt.created);
  EXPECT_THAT(ListedTexts(world), ElementsAre("1 manual start"));
  EXPECT_EQ(world.Stored().checkpoints, (CheckpointSummary{.version = 1, .manual = 1}));
}

TEST(SessionsCheckpoints, APageEndsAtItsBytes) {
  World world;
  world.Create();
  constexpr size_t kHeavy = 40;
  for (size_t number = 0; number < kHeavy; ++number) {
    CommitTurnCommand commit = world.ToCommit(world.Begin());
    commit.checkpoint = CheckpointMark();
    for (size_t label = 0; label < kItemLabels; ++label) {
      commit.checkpoint->labels[std::to_string(label)] = std::string(kItemLabelValueBytes, 'x');
    }
    ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), commit)), "OK");
  }
  const auto page = ReadCheckpoints(world.store(), world.key(), {.limit = kHeavy});
  ASSERT_EQ(ReasonIn(page), "OK");
  EXPECT_FALSE(page->end);
  EXPECT_LE(page->checkpoints.size() * kItemLabels * kItemLabelValueBytes, kPageBytes);
  EXPECT_EQ(ListedTexts(world).size(), kHeavy);
}

// Each of these reads before it decides, and another server acts in between.
TEST(SessionsCheckpoints, AreDecidedAgainAfterALostRace) {
  World world;
  world.Create();
  const Revision first = world.RunTurn().receipt.revision;
  Put(world, "one");
  const auto other = world.other().PutCheckpoint(world.caller(), ToPut(world, "two", Revision(1)));
  ASSERT_EQ(ReasonIn(other), "OK");
  // The first server remembers a head of before.
  ASSERT_EQ(ReasonIn(Delete(world, "", first)), "OK");
  EXPECT_EQ(world.Stored().checkpoints, (CheckpointSummary{.version = 3, .manual = 1}));
  EXPECT_THAT(ListedTexts(world), ElementsAre("1 manual two"));
}

}  // namespace
}  // namespace holdfast::test
