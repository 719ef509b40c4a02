// durability: interval. An acknowledgement does not wait for the disk; after a power cut an earlier
// state of the session is found whole, and what was cut is said.
#include "store-fs/fs_store.h"
#include "store-fs/recovery.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;

const SessionKey kAlpha = Key("alpha");

class Interval : public ::testing::Test {
 protected:
  // A store on `disk`; with kSync it is one that an operator set back.
  std::unique_ptr<SessionStore> Open(MemoryDisk& disk, fs::Durability durability,
                                     absl::Duration interval = absl::Hours(1)) {
    fs::FsOptions options;
    roots_.push_back(std::make_unique<TempDir>());
    options.root = *roots_.back() / "root";  // only its lock is real
    options.durability = durability;
    options.interval = interval;
    options.wrap_files = [this, &disk](std::unique_ptr<fs::Files>) {
      return disk.Open([this](const std::string& operation, const std::string& path) {
        const bool journal = path.find("journal.log") != std::string::npos;
        if (journal && operation == "sync") ++journal_syncs_;
        return absl::OkStatus();
      });
    };
    auto store = fs::MakeFsStore(std::move(options), clock_, random_);
    EXPECT_TRUE(store->Init().ok());
    EXPECT_TRUE(store->Activate().ok());
    return store;
  }

  // Creates alpha and appends to its journal `count` times.
  void Write(SessionStore& store, int count) {
    Changes changes(kAlpha, random_);
    const auto created = store.Commit(changes.Create());
    ASSERT_TRUE(created.ok());
    journal_syncs_ = 0;
    const LeaseToken token = *LeaseToken::Parse(created->receipt.token);
    for (int number = 1; number <= count; ++number) {
      const auto entry = Note(TurnNumber(), static_cast<uint64_t>(number), std::string(600, 'n'));
      ASSERT_TRUE(store.Commit(changes.Append(token, TurnNumber(), {entry})).ok());
    }
  }
  static Head HeadIn(SessionStore& store) {
    const auto loaded = store.LoadForDecision(kAlpha, std::nullopt);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? loaded->head : Head();
  }
  static std::string DurabilityIn(const MemoryDisk& disk) { return disk.Read("STORE"); }

  std::atomic<int> journal_syncs_ = 0;

 private:
  std::vector<std::unique_ptr<TempDir>> roots_;
  FakeClock clock_;
  SeededRandom random_;
};

TEST_F(Interval, AnAcknowledgementDoesNotWaitAndASyncFollows) {
  MemoryDisk disk;
  auto store = Open(disk, fs::Durability::kInterval, absl::Milliseconds(1));
  Write(*store, 3);
  EXPECT_TRUE(testing::WaitUntil([&] {
    return disk.After(CutKind::kNothing).Read(fs::DirectoryOf(kAlpha) + "/journal.log") ==
           disk.Read(fs::DirectoryOf(kAlpha) + "/journal.log");
  }));
  store->Dispose();
}

TEST_F(Interval, AfterAPowerCutAnEarlierStateIsFoundAndTheCutIsSaid) {
  MemoryDisk disk;
  auto store = Open(disk, fs::Durability::kInterval);
  Write(*store, 8);
  EXPECT_EQ(journal_syncs_, 0) << "an acknowledgement waited for the disk";
  for (const CutKind cut : kCuts) {
    MemoryDisk after = disk.After(cut);
    auto again = Open(after, fs::Durability::kInterval);
    const Head head = HeadIn(*again);
    EXPECT_LE(head.journal.value(), 8U);
    if (cut == CutKind::kKilled) {
      EXPECT_EQ(head.journal.value(), 8U) << "a kill alone loses nothing";
    }
    if (cut == CutKind::kTorn) {
      EXPECT_GT(head.tail_bytes_truncated, 0U);
    }
    again->Dispose();
  }
  store->Dispose();
}

TEST_F(Interval, FindsTornFramesWhenSetBackToSync) {
  MemoryDisk disk;
  auto store = Open(disk, fs::Durability::kInterval);
  Write(*store, 8);
  MemoryDisk after = disk.After(CutKind::kTorn);
  store->Dispose();
  auto again = Open(after, fs::Durability::kSync);
  EXPECT_EQ(again->Describe().durability, "sync");
  EXPECT_GT(HeadIn(*again).tail_bytes_truncated, 0U);
  // Only when every session has been opened does STORE say so too.
  EXPECT_TRUE(testing::WaitUntil(
      [&] { return DurabilityIn(after).find("\"durability\": \"sync\"") != std::string::npos; }));
  again->Dispose();
}

TEST_F(Interval, AnOrderlyEndLeavesNothingUnsynced) {
  MemoryDisk disk;
  auto store = Open(disk, fs::Durability::kInterval);
  Write(*store, 8);
  EXPECT_TRUE(store->Deactivate().ok());
  store->Dispose();
  MemoryDisk after = disk.After(CutKind::kNothing);
  auto again = Open(after, fs::Durability::kSync);
  EXPECT_THAT(DurabilityIn(after), HasSubstr("\"durability\": \"sync\""));
  EXPECT_EQ(HeadIn(*again).journal.value(), 8U);
  again->Dispose();
}

}  // namespace
}  // namespace holdfast::test
