// The bytes of a root: written today as they were when their version was fixed, and read for ever.
// A format that changes gets a version and a root of its own beside the former ones.
#include "session/audit.h"
#include "session/checkpoint.h"
#include "session/names.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

namespace stdfs = std::filesystem;

constexpr char kToday[] = "tests/golden/root.9";
constexpr const char* kFormer[] = {
    "tests/golden/root.1", "tests/golden/root.2", "tests/golden/root.3", "tests/golden/root.4",
    "tests/golden/root.5", "tests/golden/root.6", "tests/golden/root.7", "tests/golden/root.8"};
constexpr PageLimit kAll{.items = 1000, .bytes = size_t{1} << 20};

class GoldenRoot : public ::testing::Test {
 protected:
  std::unique_ptr<SessionStore> Open(const stdfs::path& root, MemoryDisk* disk) {
    fs::FsOptions options;
    options.root = root;
    options.adopt = disk == nullptr;  // it was copied
    options.rotate_changes = 6;
    options.bounds.inline_entries = 512;  // so that one session has a run
    if (disk != nullptr) options.wrap_files = OnDisk(*disk);
    auto store = fs::MakeFsStore(std::move(options), clock_, random_);
    EXPECT_TRUE(store->Init().ok());
    return store;
  }

  Receipt Do(SessionStore& store, const Change& change) {
    const auto result = store.Commit(change);
    EXPECT_TRUE(result.ok() && result->refusal.ok()) << result.status();
    return result.ok() ? result->receipt : Receipt();
  }

  // One of every record: turns with entries, a rotation and changes after it, a resume, an
  // abandoned turn, items, a closed session, a deleted one, one that is being cancelled.
  void Fill(SessionStore& store) {
    Changes alpha(Key("alpha"), random_);
    Change create = alpha.Create();
    create.messages = {Text("hello")};
    create.slots = {MakeSlot("plan", "none")};
    LeaseToken token = *LeaseToken::Parse(Do(store, create).token);
    for (const char* word : {"one", "two", "three"}) {
      const TurnNumber turn = Do(store, alpha.Begin(token)).turn;
      Do(store, alpha.Append(token, turn,
                             {SlotUpdate(turn, 1, MakeSlot("plan", word)), Note(turn, 2, word)}));
      Change commit = alpha.CommitTurn(token, turn);
      commit.messages = {Text(word), Text(std::string(100, *word))};
      commit.slots = {MakeSlot("memory", word)};
      if (word == std::string_view("two")) commit.checkpoints = SecondTurn();
      Do(store, commit);
    }
    ItemPut labelled = Put("labelled", "data of an item");
    labelled.item.labels = {
        {"kind", "plan"}, {"round", int64_t{3}}, {"weight", 0.5}, {"done", true}};
    labelled.item.content_type = "text/plain";
    labelled.item.parent_key = "overwritten";
    labelled.item.refs = {{.collection = "notes", .key = "deleted"}};
    Do(store, alpha.PutItems({.puts = {labelled, Put("overwritten", "before"), Put("deleted", "x"),
                                       Put("", "appended")}}));
    Do(store, alpha.PutItems({.deletes = {{.collection = "notes", .keys = std::string("deleted")}},
                              .puts = {Put("overwritten", "after"), Put("empty", "")}}));
    Do(store, alpha.Update({{"title", "a golden one"}}));
    Do(store, alpha.Release(token));
    token = *LeaseToken::Parse(Do(store, alpha.Resume()).token);
    const TurnNumber turn = Do(store, alpha.Begin(token)).turn;
    Change abandon = alpha.Abandon(token, turn);
    abandon.pins_previous = CheckpointKind::kInterrupted;
    Do(store, abandon);
    Changes beta(Key("beta"), random_);
    token = *LeaseToken::Parse(Do(store, beta.Create()).token);
    Change write = beta.Write(token);
    write.messages = {Text("first"), Text("second")};
    write.compacts = true;
    write.pins_previous = CheckpointKind::kPreCompaction;
    Do(store, write);
    Change restore = beta.Write(token);
    restore.restores = HistoryCut{.generation = Generation(1),
                                  .messages = MessageSeq(1),
                                  .digest = ExtendHistory(Digest(), Text("first"))};
    restore.messages = {Text("instead")};
    Do(store, restore);
    Do(store, beta.Close(token));
    Changes gamma(Key("gamma"), random_);
    token = *LeaseToken::Parse(Do(store, gamma.Create()).token);
    Do(store, gamma.Release(token));
    Do(store, gamma.Delete());
    Changes delta(Key("delta"), random_);
    token = *LeaseToken::Parse(Do(store, delta.Create()).token);
    const TurnNumber running = Do(store, delta.Begin(token)).turn;
    Do(store, delta.Append(token, running, {Note(running, 1, "on its way")}));
    Change keep = delta.KeepTurn(token, running);
    keep.messages = {Text("kept")};
    Do(store, keep);
    Do(store, delta.RequestCancel(CancelScope::kTool, running, "grep"));
    Do(store, delta.RequestCancel(CancelScope::kSession));
  }

  static CheckpointWrites SecondTurn() {
    CheckpointPut put{.of_this_snapshot = true, .takes_name = true};
    put.checkpoint.name = "second";
    put.checkpoint.labels = {{"turn", int64_t{2}}};
    return {.puts = {put}, .manual = 1};
  }

  // Every file below `root`, by its path there.
  static std::map<std::string, std::string> FilesOf(const stdfs::path& root) {
    std::map<std::string, std::string> files;
    for (const auto& entry : stdfs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) {
        files[entry.path().lexically_relative(root)] = ReadFile(entry.path());
      }
    }
    return files;
  }

  static std::vector<std::string> Texts(SessionStore& store, const std::string& id) {
    std::vector<std::string> texts;
    const auto page = store.ReadMessages(Key(id), std::nullopt, MessageSeq(), kAll);
    EXPECT_TRUE(page.ok()) << page.status();
    for (const Message& message : page->messages) texts.push_back(message.data.str());
    return texts;
  }

  stdfs::path CopyOf(const stdfs::path& from) {
    stdfs::path root = directory_ / from.filename();
    stdfs::copy(from, root, stdfs::copy_options::recursive);
    stdfs::permissions(root, stdfs::perms::owner_all);
    return root;
  }
  // A store over a copy of today's root.
  std::unique_ptr<SessionStore> OpenCopy() { return Open(CopyOf(kToday), nullptr); }

  SeededRandom& random() { return random_; }
  FakeClock& clock() { return clock_; }

  TempDir directory_;

 private:
  FakeClock clock_;
  SeededRandom random_;
};

TEST_F(GoldenRoot, TodaysIsWrittenByteForByte) {
  MemoryDisk disk;
  const auto store = Open(directory_ / "lock-only", &disk);
  Fill(*store);
  EXPECT_TRUE(store->Deactivate().ok());
  store->Dispose();
  const stdfs::path written = directory_ / "written";
  disk.CopyTo(written);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  if (std::getenv("HOLDFAST_UPDATE_GOLDEN") != nullptr) {
    stdfs::remove_all(kToday);
    stdfs::copy(written, kToday, stdfs::copy_options::recursive);
    stdfs::remove_all(stdfs::path(kToday) / "tmp");
  }
  const auto files = FilesOf(written);
  const auto golden = FilesOf(kToday);
  EXPECT_GT(golden.size(), 10U);
  for (const auto& [path, bytes] : golden) {
    ASSERT_TRUE(files.contains(path)) << path;
    EXPECT_TRUE(files.at(path) == bytes) << path << " is written otherwise: a new version?";
  }
  EXPECT_EQ(files.size(), golden.size());
}

TEST_F(GoldenRoot, TodaysIsRead) {
  const auto store = OpenCopy();
  EXPECT_THAT(Texts(*store, "alpha"),
              ElementsAre("hello", "one", std::string(100, 'o'), "two", std::string(100, 't'),
                          "three", std::string(100, 't')));
  const auto slots = store->ReadSlots(Key("alpha"), {});
  ASSERT_TRUE(slots.ok());
  std::map<std::string, std::string> states;
  for (const SlotView& view : slots->slots) states[view.slot.owner] = view.slot.data;
  EXPECT_EQ(states["plan"], "three");
  EXPECT_EQ(states["memory"], "three");
  const auto alpha = store->LoadForDecision(Key("alpha"), std::nullopt);
  ASSERT_TRUE(alpha.ok());
  EXPECT_EQ(alpha->head.attributes.at("title"), "a golden one");
  EXPECT_EQ(alpha->head.last_turn, TurnNumber(4));
  EXPECT_EQ(alpha->head.lease.epoch, Epoch(2));
  const auto events = store->ReadEvents(Key("alpha"), EventSeq(), kAll);
  ASSERT_TRUE(events.ok());
  EXPECT_EQ(events->events.size(), alpha->head.last_event.value());
  const auto audits = store->ReadAudit(Key("alpha"), AuditSeq(), kAll);
  ASSERT_TRUE(audits.ok());
  EXPECT_EQ(audits->records.size(), alpha->head.last_audit.value());
  store->Dispose();
}

TEST_F(GoldenRoot, ItemsOfTodaysAreRead) {
  const auto store = OpenCopy();
  const auto page = store->ReadItems(Key("alpha"), {.collection = "notes", .data = true}, kAll);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(page->end);
  EXPECT_EQ(page->items_version, ItemVersion(10));
  std::vector<std::string> texts;
  for (const ItemView& view : page->items) texts.push_back(view.item.data.str());
  EXPECT_THAT(texts, ElementsAre("appended", "", "data of an item", "after"));
  const Item& labelled = page->items[2].item;
  EXPECT_EQ(labelled.labels,
            (ItemLabels{{"kind", "plan"}, {"round", int64_t{3}}, {"weight", 0.5}, {"done", true}}));
  EXPECT_EQ(labelled.content_type, "text/plain");
  EXPECT_EQ(labelled.parent_key, "overwritten");
  EXPECT_EQ(labelled.refs, (std::vector<ItemName>{{.collection = "notes", .key = "deleted"}}));
  store->Dispose();
}

TEST_F(GoldenRoot, CheckpointsOfTodaysAreRead) {
  const auto store = OpenCopy();
  const auto alpha = store->LoadForDecision(Key("alpha"), std::nullopt);
  ASSERT_TRUE(alpha.ok()) << alpha.status();
  const Revision last = alpha->head.snapshots.back().at.revision;
  const OwnCheckpoint interrupted{.kind = CheckpointKind::kInterrupted, .revision = last};
  EXPECT_EQ(alpha->head.checkpoints,
            (CheckpointSummary{.version = 2, .manual = 1, .own = {interrupted}}));
  EXPECT_EQ(alpha->head.snapshot_turn, TurnNumber(3));
  EXPECT_EQ(alpha->head.context_number, 2U);
  const auto beta = store->LoadForDecision(Key("beta"), std::nullopt);
  ASSERT_TRUE(beta.ok()) << beta.status();
  EXPECT_EQ(beta->head.compactions, 1U);
  EXPECT_EQ(beta->head.context_number, 3U);
  ASSERT_EQ(beta->head.checkpoints.own.size(), 1U);
  EXPECT_EQ(beta->head.checkpoints.own.front().kind, CheckpointKind::kPreCompaction);
  const auto page =
      store->ReadItems(Key("alpha"), {.collection = kCheckpointCollection, .data = true}, kAll);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->items.size(), 3U);  // the manual one, the interrupted one, and a name
  const auto checkpoint = DecodeCheckpoint(page->items[0].item);
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->name, "second");
  EXPECT_EQ(checkpoint->turn, TurnNumber(2));
  EXPECT_EQ(checkpoint->snapshot.record.messages, MessageSeq(5));
  EXPECT_EQ(checkpoint->labels, (ItemLabels{{"turn", int64_t{2}}}));
  EXPECT_EQ(DecodeCheckpointName(page->items[2].item), checkpoint->revision());
  store->Dispose();
}

TEST_F(GoldenRoot, EndedAndCancelledSessionsOfTodaysAreRead) {
  const auto store = OpenCopy();
  const auto beta = store->LoadForDecision(Key("beta"), std::nullopt);
  ASSERT_TRUE(beta.ok());
  EXPECT_EQ(beta->head.lifecycle, Lifecycle::kClosed);
  EXPECT_EQ(beta->head.generation, Generation(2));
  EXPECT_THAT(Texts(*store, "beta"), ElementsAre("first", "instead"));
  EXPECT_FALSE(store->LoadForDecision(Key("gamma"), std::nullopt).ok());
  const auto last = store->ReadLastEvent(Key("gamma"));
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->name, kSessionDeleted);
  EXPECT_FALSE(last->correlation_id.empty());
  const auto delta = store->LoadForDecision(Key("delta"), std::nullopt);
  ASSERT_TRUE(delta.ok());
  ASSERT_TRUE(delta->head.turn.has_value());
  EXPECT_EQ(delta->head.turn->applied_entry, EntryNumber(1));
  EXPECT_THAT(Texts(*store, "delta"), ElementsAre("kept"));
  ASSERT_EQ(delta->head.cancel_requests.size(), 2U);
  EXPECT_EQ(delta->head.cancel_requests[0].name, "grep");
  EXPECT_EQ(delta->head.cancel_requests[1].scope, CancelScope::kSession);
  store->Dispose();
}

TEST_F(GoldenRoot, TheAuditChainOfTodaysIsVerifiedWithWhatIsAddedToIt) {
  const auto store = OpenCopy();
  Changes alpha(Key("alpha"), random());
  Change more = alpha.Update({{"title", "a golden one"}});
  more.audit = AuditDraft{.audit_class = "Approval", .code = "granted", .data = {}};
  Do(*store, more);
  const auto page = store->ReadAudit(Key("alpha"), AuditSeq(), kAll);
  ASSERT_TRUE(page.ok()) << page.status();
  AuditChain chain;
  for (const AuditRecord& record : page->records) EXPECT_TRUE(chain.Take(record)) << chain.why();
  const auto head = store->LoadForDecision(Key("alpha"), std::nullopt);
  ASSERT_TRUE(head.ok()) << head.status();
  chain.ExpectEnd(head->head.audit_chain);
  EXPECT_EQ(chain.why(), "");
  store->Dispose();
}

TEST_F(GoldenRoot, RepliesOfTodaysAreKeptForADayAndThenForgotten) {
  const auto store = OpenCopy();
  const auto head = store->LoadForDecision(Key("alpha"), std::nullopt);
  ASSERT_TRUE(head.ok() && head->head.last_committed_request);
  const auto find = [&] {
    const auto loaded = store->LoadForDecision(Key("alpha"), head->head.last_committed_request);
    return loaded.ok() && loaded->request.has_value();
  };
  EXPECT_TRUE(find());
  clock().Advance(absl::Hours(23));
  EXPECT_TRUE(find());
  clock().Advance(absl::Hours(2));
  EXPECT_FALSE(find());
  store->Dispose();
}

// The message says which format the root has, which is served, and what to do; nothing is changed.
TEST_F(GoldenRoot, AFormerOneIsRefusedInWords) {
  for (const stdfs::path from : kFormer) {
    const stdfs::path root = CopyOf(from);
    const auto before = FilesOf(root);
    fs::FsOptions options;
    options.root = root;
    options.adopt = true;
    const auto store = fs::MakeFsStore(std::move(options), clock(), random());
    const absl::Status opened = store->Init();
    store->Dispose();
    EXPECT_TRUE(Is(opened, Reason::kStoreUnavailable)) << opened;
    const std::string format = from.extension().string().substr(1);
    EXPECT_THAT(std::string(opened.message()),
                EndsWith(": STORE says that its files have format " + format +
                         ", and this version serves format 9: serve them with the version that "
                         "wrote them, or name an empty directory"));
    auto after = FilesOf(root);
    after.erase("lock");
    EXPECT_TRUE(after == before) << from;
  }
}

}  // namespace
}  // namespace holdfast::test
