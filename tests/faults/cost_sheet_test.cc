// What a change costs on a disk, counted and never timed: one synced write of the write-ahead log,
// which changes of many sessions share, one write of the journal, a note of how far it is durable,
// and no more bytes for a long session than for a short one.
#include "store-fs/fs_store.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kLog[] = "write wal/0";
constexpr char kSync[] = "sync wal/0";
constexpr char kWrite[] = "write t/default/alpha/journal.log";
constexpr char kNote[] = "write watermarks";
constexpr char kAllocate[] = "allocate t/default/alpha/journal.log";
constexpr absl::Duration kQuiet = absl::Minutes(5);
constexpr char kTruncate[] = "truncate t/default/alpha/journal.log";

class CostSheet : public ::testing::Test {
 protected:
  CostSheet() = default;
  explicit CostSheet(size_t rotate_changes) : rotate_changes_(rotate_changes) {}

  void SetUp() override {
    fs::FsOptions options;
    options.root = root_ / "root";  // only its lock is real
    options.rotate_changes = rotate_changes_;
    options.compact_in_sweeps = true;
    // What is durable is not asked here, and to keep it would cost a copy of each file per sync.
    const MissingSyncs none{.of_files = true, .of_directories = true};
    options.wrap_files = BreakBy(
        disk_,
        [this](const FileOperation& asked) {
          Count(asked);
          return absl::OkStatus();
        },
        none);
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
    token_ = *LeaseToken::Parse(Commit(changes_.Create()).receipt.token);
  }
  void TearDown() override { store_->Dispose(); }

  CommitResult Commit(const Change& change) {
    auto result = store_->Commit(change);
    EXPECT_TRUE(result.ok() && result->refusal.ok());
    return *std::move(result);
  }
  // What `change` does to the disk, in order: every operation that changes it or makes it durable.
  std::vector<std::string> CostOf(const Change& change) {
    operations_.clear();
    Commit(change);
    return operations_;
  }

  // A turn of one message of a kilobyte.
  void Turn() {
    Change commit = changes_.CommitTurn(token_, Commit(changes_.Begin(token_)).receipt.turn);
    commit.messages = {Text(random_.Bytes(1024))};
    Commit(commit);
  }
  // What `turns` turns write, in bytes per turn, with the compactions that they lead to.
  double BytesPerTurn(int turns) {
    const uint64_t before = bytes_;
    for (int i = 0; i < turns; ++i) {
      Turn();
      if (i % 64 != 0) continue;
      EXPECT_TRUE(store_->ListDue(DueKind::kAbandoned, kQuiet, {}, 1).ok());
    }
    operations_.clear();
    return static_cast<double>(bytes_ - before) / turns;
  }

  Changes& changes() { return changes_; }
  [[nodiscard]] const LeaseToken& token() const { return token_; }
  [[nodiscard]] uint64_t written_bytes() const { return bytes_; }
  SessionStore& store() { return *store_; }
  std::vector<std::string>& operations() { return operations_; }

 private:
  void Count(const FileOperation& asked) {
    static const std::set<std::string> kReading = {"open", "read", "size", "inode", "list", "stat"};
    if (kReading.contains(asked.name)) return;
    operations_.push_back(asked.name + " " + asked.path);
    bytes_ += asked.bytes;
  }

  const size_t rotate_changes_ = 1'000'000;  // more than there are: rotation has its own price
  TempDir root_;
  MemoryDisk disk_;
  FakeClock clock_;
  SeededRandom random_;
  std::vector<std::string> operations_;
  uint64_t bytes_ = 0;
  std::unique_ptr<SessionStore> store_;
  Changes changes_{Key("alpha"), random_};
  LeaseToken token_;
};

TEST_F(CostSheet, AChangeIsOneSyncOfTheLog) {
  Commit(changes().Begin(token()));  // takes the journal's first space
  Commit(changes().CommitTurn(token(), TurnNumber(1)));
  const auto once = ElementsAre(kLog, kSync, kWrite, kNote);
  EXPECT_THAT(CostOf(changes().Begin(token())), once);
  EXPECT_THAT(CostOf(changes().Append(token(), TurnNumber(2), {Note(TurnNumber(2), 1, "a")})),
              once);
  Change commit = changes().CommitTurn(token(), TurnNumber(2));
  commit.messages = {Text("question"), Text("answer")};
  commit.slots = {MakeSlot("memory", "remembered"), MakeSlot("plan", "planned")};
  EXPECT_THAT(CostOf(commit), once);
  EXPECT_THAT(CostOf(changes().Begin(token())), once);
  EXPECT_THAT(CostOf(changes().Abandon(token(), TurnNumber(3))), once);
  EXPECT_THAT(CostOf(changes().Write(token())), once);
  EXPECT_THAT(CostOf(changes().Update({{"title", "a title"}})), once);
  // The store allocates space ahead of the writes, and truncates it while no lease is held.
  EXPECT_THAT(CostOf(changes().Release(token())),
              ElementsAre(kLog, kSync, kWrite, kNote, kTruncate));
  EXPECT_THAT(CostOf(changes().Resume()), ElementsAre(kAllocate, kLog, kSync, kWrite, kNote));
}

TEST_F(CostSheet, WhatChangesNothingWritesNothing) {
  const Change begin = changes().Begin(token());
  const Change append = changes().Append(token(), TurnNumber(1), {Note(TurnNumber(1), 1, "a")});
  Commit(begin);
  Commit(append);
  EXPECT_THAT(CostOf(begin), IsEmpty()) << "a repeat";
  EXPECT_THAT(CostOf(append), IsEmpty()) << "an entry that is there";
  operations().clear();
  const auto renewed = store().RenewLeases({{.key = changes().key(), .token = token()}});
  EXPECT_TRUE(renewed.at(0).ok());
  EXPECT_FALSE(store().Commit(changes().Begin(token()))->refusal.ok()) << "a second turn";
  EXPECT_TRUE(store().LoadForDecision(changes().key(), begin.request->id).ok());
  EXPECT_THAT(operations(), IsEmpty());
}

// A rotation seals the journal as it is: what it writes are places and the head, never an item.
class CostOfRotation : public CostSheet {
 protected:
  static constexpr size_t kRotateChanges = 16;
  CostOfRotation() : CostSheet(kRotateChanges) {}

  // Up to the change before a rotation, with an item of `bytes` in each change.
  void FillJournal(size_t bytes) {
    for (size_t change = changes_in_journal_ + 1; change < kRotateChanges; ++change) Put(bytes);
    changes_in_journal_ = 0;
  }
  void Put(size_t bytes) {
    Change change = changes().Write(token());
    change.messages = {Text(std::string(bytes, 'm'))};
    change.slots = {MakeSlot("plan", std::string(bytes, 's'))};
    Commit(change);
  }
  uint64_t BytesOf(const Change& change) {
    const uint64_t before = written_bytes();
    Commit(change);
    return written_bytes() - before;
  }

 private:
  size_t changes_in_journal_ = 1;  // the creation
};

TEST_F(CostOfRotation, IsTheSameStepsWhateverTheJournalHolds) {
  FillJournal(1024);
  Commit(changes().Write(token()));  // the first one makes the directory
  FillJournal(1024);
  const std::string session = "t/default/alpha";
  const std::string state = session + "/state";
  const std::vector<std::string> steps = CostOf(changes().Write(token()));
  const std::string uid = store().LoadForDecision(changes().key(), std::nullopt)->head.uid.value();
  // A file that was opened under a name keeps it here.
  const std::string journal = "tmp/" + uid + ".journal";
  std::vector<std::string> expected = {
      kLog, kSync, "write " + journal, kNote, "sync " + journal, "link " + state + "/log.2"};
  const auto add_file = [&](const std::string& path) {
    for (const char* step : {"create ", "write ", "sync "}) expected.push_back(step + path);
  };
  add_file(state + "/index.2");
  add_file(state + "/head.2");
  expected.push_back("sync directory " + state);
  add_file("tmp/" + uid + ".manifest");
  expected.push_back("rename " + session + "/manifest.json");
  expected.push_back("sync directory " + session);
  add_file(journal);
  expected.push_back("rename " + session + "/journal.log");
  expected.push_back("sync directory " + session);
  expected.push_back("truncate " + journal);
  expected.push_back(kNote);
  expected.push_back("remove " + state + "/head.1");
  EXPECT_EQ(steps, expected);
}

TEST_F(CostOfRotation, WritesNoItemAgain) {
  FillJournal(100);
  const uint64_t of_small_items = BytesOf(changes().Write(token()));
  FillJournal(64 * 1024);
  const uint64_t of_large_items = BytesOf(changes().Write(token()));
  EXPECT_LE(of_large_items, of_small_items + 1024);
}

class CostOfGrowth : public CostSheet {
 protected:
  CostOfGrowth() : CostSheet(fs::FsOptions().rotate_changes) {}
};

TEST_F(CostOfGrowth, ALongSessionWritesNoMorePerTurnThanAShortOne) {
  constexpr int kWindow = 2048;
  const double first = BytesPerTurn(kWindow);  // whose logs are compacted in the next window
  const double early = BytesPerTurn(kWindow);
  BytesPerTurn(10'000 - 3 * kWindow);
  const double late = BytesPerTurn(kWindow);
  std::cout << "bytes per turn of a kilobyte: " << first << " of the first " << kWindow << ", "
            << early << " of the next, " << late << " of the last before 10,000\n";
  EXPECT_LE(first, early);
  EXPECT_LE(late, 1.1 * early);
}

}  // namespace
}  // namespace holdfast::test
