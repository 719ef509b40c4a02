// Compactions: what a commit and a write say of them, what is pinned, and what is recorded.
#include "session/audit_reads.h"
#include "session/checkpoint_reads.h"
#include "session/limits.h"
#include "session/names.h"
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;

// A commit that compacts to one message.
CommitTurnCommand ToCompact(World& world, TurnNumber turn) {
  CommitTurnCommand commit = world.ToCommit(turn);
  commit.messages = {Said("summary")};
  commit.replace_history = true;
  commit.compaction = Compaction{.trigger = CompactionTrigger::kManual,
                                 .size_before = 180'000,
                                 .size_after = 9'000,
                                 .survived = {{.collection = "notes", .key = "anchor"}}};
  return commit;
}

void MustCommit(World& world, const CommitTurnCommand& commit) {
  const auto committed = world.sessions().CommitTurn(world.caller(), commit);
  EXPECT_EQ(ReasonIn(committed), "OK") << committed.status();
}

// "REVISION kind" of those of the server's own kinds, the newest first.
std::vector<std::string> PinnedTexts(World& world) {
  const auto page = ReadCheckpoints(world.store(), world.key(), {.limit = 100});
  EXPECT_EQ(ReasonIn(page), "OK");
  std::vector<std::string> texts;
  if (!page.ok()) return texts;
  for (const ListedCheckpoint& listed : page->checkpoints) {
    texts.push_back(std::to_string(listed.checkpoint.revision().value()) + " " +
                    Name(listed.checkpoint.kind));
  }
  return texts;
}

AuditRecord LastRecord(World& world) {
  const auto page = world.store().ReadAudit(world.key(), AuditSeq(), {.items = 100, .bytes = kMiB});
  EXPECT_EQ(ReasonIn(page), "OK");
  const bool has_one = page.ok() && !page->records.empty();
  return has_one ? page->records.back() : AuditRecord();
}

TEST(SessionsCompaction, OfACommitPinsTheSnapshotBeforeAndIsRecorded) {
  World world;
  world.Create();
  const Revision before = world.RunTurn({Said("one"), Said("two")}).receipt.revision;
  const uint64_t context = world.Stored().context_number;
  MustCommit(world, ToCompact(world, world.Begin()));
  EXPECT_THAT(world.Texts(), ElementsAre("summary"));
  EXPECT_THAT(PinnedTexts(world), ElementsAre(std::to_string(before.value()) + " pre_compaction"));
  const Head head = world.Stored();
  EXPECT_EQ(head.compactions, 1U);
  EXPECT_EQ(head.context_number, context + 1);
  const AuditRecord record = LastRecord(world);
  EXPECT_EQ(record.audit_class, kCompactionClass);
  EXPECT_EQ(record.code, "TurnEnded");
  EXPECT_THAT(record.data,
              IsSupersetOf({Pair("trigger", "manual"), Pair("size_before", "180000"),
                            Pair("size_after", "9000"), Pair("messages_before", "2"),
                            Pair("messages_after", "1"), Pair("survived.1", "notes/anchor"),
                            Pair("outcome", "ok"), Pair("turn", "2")}));
  EXPECT_EQ(world.EventNames().back(), "SessionCompacted");
}

TEST(SessionsCompaction, InsideATurnLeavesTheTurnActive) {
  World world;
  world.Create();
  world.RunTurn({Said("one"), Said("two")});
  const TurnNumber turn = world.Begin();
  CommitTurnCommand commit = ToCompact(world, turn);
  commit.keep_open = true;
  MustCommit(world, commit);
  EXPECT_THAT(world.Texts(), ElementsAre("summary"));
  EXPECT_EQ(world.Stored().turn->number, turn);
  EXPECT_EQ(LastRecord(world).code, "save");
  world.Commit(turn, {Said("three")});
  EXPECT_THAT(world.Texts(), ElementsAre("summary", "three"));
}

TEST(SessionsCompaction, OfAWriteKeepsTheHistoryUnlessItIsReplaced) {
  World world;
  world.Create();
  world.RunTurn({Said("one"), Said("two")});
  WriteCommand write{.request = world.NewRequest(), .session = world.id()};
  write.token = world.token();
  write.base = HistoryBase{.count = MessageSeq(2), .digest = world.Stored().history};
  write.messages = {Said("boundary")};
  write.compaction = Compaction{.size_before = 7};
  const auto written = world.sessions().Write(world.caller(), write);
  ASSERT_EQ(ReasonIn(written), "OK") << written.status();
  EXPECT_THAT(world.Texts(), ElementsAre("one", "two", "boundary"));
  EXPECT_EQ(LastRecord(world).data.at("messages_after"), "3");
  EXPECT_EQ(LastRecord(world).data.at("trigger"), "auto");
  EXPECT_EQ(PinnedTexts(world).size(), 1U);
}

TEST(SessionsCompaction, IsTakenBackByARestore) {
  World world;
  world.Create();
  const Revision before = world.RunTurn({Said("one"), Said("two")}).receipt.revision;
  MustCommit(world, ToCompact(world, world.Begin()));
  for (size_t turn = 0; turn < 2 * kSnapshotsKeptDefault; ++turn) world.RunTurn({Said("more")});
  RestoreCommand restore{.request = world.NewRequest(), .session = world.id()};
  restore.token = world.token();
  restore.expected_revision = world.Stored().revision;
  restore.point.revision = before;
  const auto restored = world.sessions().Restore(world.caller(), restore);
  ASSERT_EQ(ReasonIn(restored), "OK") << restored.status();
  EXPECT_THAT(world.Texts(), ElementsAre("one", "two"));
}

TEST(SessionsCompaction, OfANewSessionPinsNothing) {
  World world;
  WriteCommand write{.request = world.NewRequest(), .session = world.id()};
  write.messages = {Said("summary of elsewhere")};
  write.compaction = Compaction();
  CreateCommand create = world.ToCreate();
  create.kind = SessionKind::kOpen;
  create.holder.clear();
  create.lease_ttl = absl::ZeroDuration();
  write.create_if_missing = create;
  const auto written = world.sessions().Write(world.caller(), write);
  ASSERT_EQ(ReasonIn(written), "OK") << written.status();
  EXPECT_THAT(PinnedTexts(world), IsEmpty());
  EXPECT_EQ(world.Stored().compactions, 1U);
  EXPECT_EQ(world.Stored().context_number, 1U);
}

TEST(SessionsCompaction, NamesItsItemsAsAClientMay) {
  World world;
  world.Create();
  CommitTurnCommand commit = ToCompact(world, world.Begin());
  commit.compaction->survived = {{.collection = "notes", .key = "a"}, {.collection = "notes"}};
  auto refused = world.sessions().CommitTurn(world.caller(), commit);
  EXPECT_EQ(ReasonIn(refused), "INVALID_FIELD");
  EXPECT_EQ(FactIn(refused.status(), "field"), "compaction.survived[1].key");
  commit.compaction->survived = {{.collection = "holdfast.work", .key = "a"}};
  refused = world.sessions().CommitTurn(world.caller(), commit);
  EXPECT_EQ(FactIn(refused.status(), "field"), "compaction.survived[0].collection");
  commit.compaction->survived.assign(kSurvivedItems + 1, {.collection = "notes", .key = "a"});
  refused = world.sessions().CommitTurn(world.caller(), commit);
  EXPECT_EQ(ReasonIn(refused), "TOO_LARGE");
  EXPECT_EQ(FactIn(refused.status(), "field"), "compaction.survived");
  EXPECT_EQ(world.Stored().compactions, 0U);
  // Bytes that are no text are recorded as text.
  commit.compaction->survived = {{.collection = "notes", .key = std::string("\xff\0", 2)}};
  MustCommit(world, commit);
  EXPECT_EQ(LastRecord(world).data.at("survived.1"), "notes/\\xff\\x00");
}

TEST(SessionsCompaction, ARepeatCompactsNothingAgain) {
  World world;
  world.Create();
  world.RunTurn({Said("one")});
  const CommitTurnCommand commit = ToCompact(world, world.Begin());
  MustCommit(world, commit);
  MustCommit(world, commit);
  EXPECT_EQ(world.Stored().compactions, 1U);
  // The same request that says something else is another one.
  CommitTurnCommand other = commit;
  other.compaction->size_after = 1;
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), other)), "REQUEST_ID_REUSED");
  other = commit;
  other.replace_history = false;
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), other)), "REQUEST_ID_REUSED");
}

TEST(SessionsCompaction, ATurnWithoutItsCommitLeavesTheSnapshotBefore) {
  World world;
  world.Create();
  const Revision first = world.RunTurn({Said("one")}).receipt.revision;
  const std::string pin = std::to_string(first.value()) + " interrupted";
  // One that failed leaves none.
  AbandonTurnCommand abandon = world.ToAbandon(world.Begin());
  abandon.outcome = TurnOutcome::kError;
  ASSERT_EQ(ReasonIn(world.sessions().AbandonTurn(world.caller(), abandon)), "OK");
  EXPECT_THAT(PinnedTexts(world), IsEmpty());
  for (const TurnOutcome outcome : {TurnOutcome::kCancelled, TurnOutcome::kAbandoned}) {
    abandon = world.ToAbandon(world.Begin());
    abandon.outcome = outcome;
    ASSERT_EQ(ReasonIn(world.sessions().AbandonTurn(world.caller(), abandon)), "OK");
    EXPECT_THAT(PinnedTexts(world), ElementsAre(pin));
  }
  const Revision second = world.RunTurn({Said("two")}).receipt.revision;
  world.Begin();
  world.TakeOver();
  EXPECT_THAT(PinnedTexts(world),
              ElementsAre(std::to_string(second.value()) + " interrupted", pin));
}

TEST(SessionsCompaction, AreFoundAmongOtherRecords) {
  World world;
  world.Create();
  for (int round = 0; round < 3; ++round) {
    world.RunTurn({Said("one")});
    MustCommit(world, ToCompact(world, world.Begin()));
  }
  AuditQuery query{.audit_class = kCompactionClass};
  std::vector<uint64_t> found;
  for (int pages = 0; pages < 10; ++pages) {
    const auto page = FindAudit(world.store(), world.key(), query, {.items = 2, .bytes = kMiB});
    ASSERT_EQ(ReasonIn(page), "OK");
    EXPECT_LE(page->records.size(), 2U);
    for (const AuditRecord& record : page->records) {
      EXPECT_EQ(record.audit_class, kCompactionClass);
      found.push_back(record.seq.value());
    }
    if (page->end) break;
    query.after = page->last;
  }
  // Each round has four records: a turn that begins and ends, and one that begins and compacts.
  EXPECT_THAT(found, ElementsAre(5U, 9U, 13U));
  const auto none = FindAudit(world.store(), world.key(), {.audit_class = "Approval"},
                              {.items = 2, .bytes = kMiB});
  ASSERT_EQ(ReasonIn(none), "OK");
  EXPECT_TRUE(none->end);
  EXPECT_THAT(none->records, IsEmpty());
  // By bytes a page has at least one.
  const auto small = FindAudit(world.store(), world.key(), {.audit_class = kCompactionClass},
                               {.items = 100, .bytes = 1});
  ASSERT_EQ(ReasonIn(small), "OK");
  EXPECT_EQ(small->records.size(), 1U);
  EXPECT_EQ(small->last, AuditSeq(8));
}

}  // namespace
}  // namespace holdfast::test
