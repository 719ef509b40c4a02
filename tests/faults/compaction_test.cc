// Compaction of sealed logs: live items are read as before, space and files follow their bytes, and
// an obstacle to compaction impairs nothing else.
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "store-fs/layout.h"
#include "store-fs/recovery.h"
#include "tests/faults/session_picture.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/file_work_meter.h"
#include "tests/support/memory_files.h"
#include "tests/support/sealed_items.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kCompactedRotateChanges = 8;

class Compaction : public ::testing::Test {
 protected:
  void SetUp() override {
    Open();
    token_ = *LeaseToken::Parse(Must(changes_.Create()).token);
  }
  void TearDown() override { store_->Dispose(); }

  void Open() {
    fs::FsOptions options;
    options.root = root_ / "root";  // only its lock is real
    options.rotate_changes = kCompactedRotateChanges;
    options.compact_in_sweeps = true;
    options.durability = durability_;
    options.meter = &meter_;
    options.note = [this](const std::string& what) { notes_.push_back(what); };
    options.wrap_files = BreakBy(disk_, [this](const FileOperation& asked) {
      const bool of_compaction = asked.path.starts_with("tmp/") && !asked.path.ends_with("probe");
      const bool is_hit = asked.name == fails_ && asked.path.ends_with(fails_at_) && of_compaction;
      return is_hit ? failure_ : absl::OkStatus();
    });
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }
  void Restart() {
    store_->Dispose();
    Open();
  }

  Receipt Must(const Change& change) {
    if (change.request) subject_.requests.push_back(change.request->id);
    const auto result = store_->Commit(change);
    EXPECT_TRUE(result.ok() && result->refusal.ok()) << result.status();
    return result.ok() ? result->receipt : Receipt();
  }
  // A turn with an entry, a message and a slot that the next one replaces.
  void Turn(size_t bytes = 600) {
    const TurnNumber turn = Must(changes_.Begin(token_)).turn;
    Must(changes_.Append(token_, turn,
                         {SlotUpdate(turn, 1, MakeSlot("plan", random_.Bytes(bytes)))}));
    Change commit = changes_.CommitTurn(token_, turn);
    commit.messages = {Text("answer " + std::to_string(++turns_))};
    commit.slots = {MakeSlot("memory", random_.Bytes(bytes))};
    commit.audit = {.audit_class = "test", .code = "audited " + std::to_string(turns_), .data = {}};
    commit.events = {{.name = "SessionPersisted", .payload = {}, .given = {}}};
    Must(commit);
  }
  // A commit whose slot lies in an upload.
  void StreamedTurn() {
    const TurnNumber turn = Must(changes_.Begin(token_)).turn;
    Change commit = changes_.CommitTurn(token_, turn);
    const std::string bytes = "streamed bytes";
    const UploadId id = *UploadId::Parse(UuidText(random_.Bytes(16), 4));
    EXPECT_TRUE(store_->StageUpload(key_, id, 0, bytes).ok());
    Slot slot = MakeSlot("streamed", "");
    slot.staged =
        StagedBytes{.upload = id, .offset = 0, .size = bytes.size(), .digest = Sha256(bytes)};
    subject_.staged.insert(*slot.staged);
    commit.slots = {slot};
    commit.upload = UploadLink{.id = id, .bytes = bytes.size(), .sha256 = Sha256(bytes)};
    Must(commit);
  }
  // Turns until a rotation has just come.
  void TurnsUntilRotated() {
    const size_t logs = FilesOf("log.").size();
    while (FilesOf("log.").size() == logs) Turn();
  }
  // Compacts what is due.
  void Sweep() {
    const auto due = store_->ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10);
    EXPECT_TRUE(due.ok()) << due.status();
  }
  Picture LookAt() { return PictureOf(*store_, {subject_}); }

  // The files of one kind in the session's state directory.
  std::vector<std::string> FilesOf(const std::string& kind) {
    std::vector<std::string> found;
    const auto names = disk_.Open()->List(fs::DirectoryOf(key_) + "/state");
    EXPECT_TRUE(names.ok()) << names.status();
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      if (name.starts_with(kind)) found.push_back(name);
    }
    return found;
  }
  uint64_t SealedBytes() {
    uint64_t bytes = 0;
    for (const std::string& name : FilesOf("log.")) {
      bytes += disk_.Read(fs::DirectoryOf(key_) + "/state/" + name).size();
    }
    return bytes;
  }
  fs::SessionState State() { return SealedState(*disk_.Open(), key_); }
  void FailAt(const std::string& operation, const std::string& end, absl::Status failure) {
    fails_ = operation;
    fails_at_ = end;
    failure_ = std::move(failure);
  }

  const SessionKey key_ = Key("alpha");
  TempDir root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  std::vector<std::string> notes_;
  FileWorkMeter meter_;
  fs::Durability durability_ = fs::Durability::kSync;
  std::string fails_;
  std::string fails_at_;
  absl::Status failure_;
  Changes changes_{key_, random_};
  std::unique_ptr<SessionStore> store_;
  Subject subject_{.key = key_, .requests = {}};
  LeaseToken token_;
  int turns_ = 0;
};

TEST_F(Compaction, WhatIsKeptIsReadAsBefore) {
  for (int round = 0; round < 12; ++round) {
    for (int turn = 0; turn < 5; ++turn) Turn();
    const Picture before = LookAt();
    const size_t logs = FilesOf("log.").size();
    Sweep();
    EXPECT_LE(FilesOf("log.").size(), logs);
    EXPECT_EQ(LookAt(), before) << "round " << round;
    Restart();
    EXPECT_EQ(LookAt(), before) << "round " << round << ", after a restart";
  }
}

TEST_F(Compaction, IsCountedAndSoAreRotations) {
  Turn();
  EXPECT_EQ(meter_.Done(FileWork::kRotation), 0U);
  for (int turn = 0; turn < 30; ++turn) Turn();
  EXPECT_EQ(meter_.Done(FileWork::kRotation), FilesOf("log.").size());
  EXPECT_EQ(meter_.Done(FileWork::kCompaction), 0U);
  Sweep();
  const size_t done = meter_.Done(FileWork::kCompaction);
  EXPECT_GT(done, 0U);
  for (int turn = 0; turn < 30; ++turn) Turn();
  FailAt("create", ".log", absl::ResourceExhaustedError("injected"));
  Sweep();
  EXPECT_EQ(meter_.Done(FileWork::kCompaction), done) << "it could not be done";
}

// A history that is replaced while the compaction of its log is under way moves to another place.
TEST_F(Compaction, AReplacedHistoryIsReadAsLongAsASnapshotNamesIt) {
  for (int turn = 0; turn < 5; ++turn) Turn();
  const Revision named = store_->LoadForDecision(key_, std::nullopt)->head.revision;
  Change replace = changes_.Write(token_);
  replace.replaces_history = true;
  replace.messages = {Text("anew")};
  Must(replace);
  for (int turn = 0; turn < 3; ++turn) Turn();
  Sweep();
  constexpr PageLimit kAll{.items = 1000, .bytes = size_t{1} << 24};
  const auto old = store_->ReadMessages(key_, named, MessageSeq(), kAll);
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->messages.size(), 5U);
  Restart();
  EXPECT_EQ(store_->ReadMessages(key_, named, MessageSeq(), kAll)->messages.size(), 5U);
}

TEST_F(Compaction, AnUploadThatOnlyTheJournalNamesStays) {
  for (int turn = 0; turn < 30; ++turn) Turn();
  TurnsUntilRotated();
  StreamedTurn();
  const Picture before = LookAt();
  const size_t logs = FilesOf("log.").size();
  Sweep();
  EXPECT_LT(FilesOf("log.").size(), logs);
  EXPECT_EQ(LookAt(), before);
  Restart();
  EXPECT_EQ(LookAt(), before);
}

// A power cut takes the changes that had ended slots since the rotation: the older ones count
// again. Where the oldest kept snapshot lies in its log differs from round to round.
TEST_F(Compaction, ByTheIntervalWhatComesBackAfterAPowerCutIsWhole) {
  durability_ = fs::Durability::kInterval;
  Restart();
  for (int turn = 0; turn < 30; ++turn) Turn();
  for (int round = 0; round < 8; ++round) {
    TurnsUntilRotated();
    Turn();
    const Revision reached = store_->LoadForDecision(key_, std::nullopt)->head.revision;
    const size_t logs = FilesOf("log.").size();
    Sweep();
    EXPECT_LE(FilesOf("log.").size(), logs);
    store_->Dispose();
    disk_ = disk_.After(CutKind::kNothing);
    Open();
    const auto loaded = store_->LoadForDecision(key_, std::nullopt);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_LT(loaded->head.revision, reached) << "nothing was lost";
    for (const SnapshotRecord& snapshot : loaded->head.snapshots) {
      const auto page = store_->ReadSlots(key_, {.revision = snapshot.at.revision});
      ASSERT_TRUE(page.ok()) << page.status();
      for (const SlotView& view : page->slots) {
        EXPECT_FALSE(view.damaged) << view.slot.owner << " in round " << round;
      }
    }
    if (loaded->head.turn) Must(changes_.Abandon(token_, loaded->head.turn->number));
  }
}

TEST_F(Compaction, SpaceFollowsWhatIsKept) {
  for (int turn = 0; turn < 200; ++turn) Turn();
  const uint64_t before = SealedBytes();
  Sweep();
  uint64_t live = 0;
  for (const auto& [file, bytes] : State().LiveBytes()) live += bytes;
  EXPECT_LT(SealedBytes(), before / 2);
  EXPECT_LE(SealedBytes(), 2 * live + 4096);
}

// However many small journals were sealed, few files are left, and a head that names few.
TEST_F(Compaction, FilesFollowBytes) {
  for (int turn = 0; turn < 400; ++turn) {
    Turn(10);
    if (turn % 10 == 0) Sweep();
  }
  EXPECT_LE(FilesOf("log.").size(), 24U);
  EXPECT_EQ(FilesOf("index.").size(), FilesOf("log.").size());
  EXPECT_EQ(FilesOf("head.").size(), 1U);
  EXPECT_EQ(State().sealed.size(), FilesOf("log.").size());
}

TEST_F(Compaction, ADamagedItemKeepsItsDamageAndTheRestIsCompacted) {
  for (int turn = 0; turn < 30; ++turn) Turn();
  const ItemPlace place = SealedItems(*disk_.Open(), key_, &fs::SessionState::messages).front();
  std::string bytes = disk_.Read(place.path);
  bytes[place.offset + place.size / 2] ^= 0x10;
  disk_.Write(place.path, bytes);
  const Picture hurt = LookAt();
  EXPECT_EQ(hurt.at("alpha messages behind 0"), "! DAMAGED");
  const uint64_t before = SealedBytes();
  Sweep();
  EXPECT_LT(SealedBytes(), 2 * before / 3);
  EXPECT_EQ(disk_.Read(place.path), bytes);
  EXPECT_EQ(LookAt(), hurt);
  for (int turn = 0; turn < 30; ++turn) Turn();
  const Picture later = LookAt();
  Sweep();
  EXPECT_EQ(disk_.Read(place.path), bytes);
  EXPECT_EQ(LookAt(), later);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("cannot be read and is not compacted")));
}

TEST_F(Compaction, WithoutSpaceNothingIsSwitchedAndNothingLeftBehind) {
  for (int turn = 0; turn < 30; ++turn) Turn();
  const Picture before = LookAt();
  for (const auto& [operation, end] :
       std::vector<std::pair<std::string, std::string>>{{"create", ".log"},
                                                        {"write", ".log"},
                                                        {"sync", ".index"},
                                                        {"create", ".manifest"},
                                                        {"write", ".manifest"}}) {
    FailAt(operation, end, absl::ResourceExhaustedError("injected"));
    Sweep();
    EXPECT_EQ(LookAt(), before) << operation << " " << end;
    EXPECT_THAT(*disk_.Open()->List("tmp"), IsEmpty()) << operation << " " << end;
    EXPECT_TRUE(store_->CheckHealth().ok());
    FailAt("", "", absl::OkStatus());
    Restart();
    EXPECT_EQ(LookAt(), before) << operation << " " << end << ", after a restart";
  }
  const uint64_t bytes = SealedBytes();
  Sweep();
  EXPECT_LT(SealedBytes(), bytes) << "there is space again";
  EXPECT_EQ(LookAt(), before);
}

// A file system without hard links: the journal is copied instead.
TEST_F(Compaction, WhereAFileHasOneNameARotationCopiesTheJournal) {
  store_->Dispose();
  fs::FsOptions options;
  options.root = root_ / "root";
  options.rotate_changes = kCompactedRotateChanges;
  options.wrap_files = BreakBy(disk_, [](const FileOperation& asked) {
    return asked.name == "link" ? absl::UnimplementedError("injected") : absl::OkStatus();
  });
  store_ = fs::MakeFsStore(std::move(options), clock_, random_);
  ASSERT_TRUE(store_->Init().ok());
  for (int turn = 0; turn < 8; ++turn) Turn();
  EXPECT_FALSE(FilesOf("log.").empty());
  const Picture before = LookAt();
  Restart();
  EXPECT_EQ(LookAt(), before);
}

}  // namespace
}  // namespace holdfast::test
