// A store whose commits share a log: what a power cut takes from the journals is written again, and
// a log that cannot be read refuses the start.
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/faults/workload.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/grouped_commit.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kLoggedSessions = 32;
constexpr uint64_t kLogBytes = 16 * kKiB;

class WriteAhead : public ::testing::Test {
 protected:
  struct Settings {
    bool adopt = false;
    uint64_t log_bytes = fs::Bounds().write_ahead;
    size_t open_sessions = fs::FsOptions().open_sessions;
  };
  std::unique_ptr<SessionStore> Make(MemoryDisk& disk, const Settings& settings) {
    fs::FsOptions options;
    roots_.push_back(std::make_unique<TempDir>());
    options.root = *roots_.back() / "root";  // only its lock is real
    options.adopt = settings.adopt;
    options.open_sessions = settings.open_sessions;
    options.bounds.write_ahead = settings.log_bytes;
    options.compact_in_sweeps = true;
    options.note = [this](const std::string& note) { notes_.push_back(note); };
    options.wrap_files = BreakBy(disk, [this](const FileOperation& asked) {
      ++operations_[asked.name + " " + asked.path];
      ++operations_[asked.name];
      return before_ ? before_(asked) : absl::OkStatus();
    });
    return fs::MakeFsStore(std::move(options), clock_, random_);
  }
  std::unique_ptr<SessionStore> Open(MemoryDisk& disk, const Settings& settings) {
    auto store = Make(disk, settings);
    EXPECT_TRUE(store->Init().ok());
    return store;
  }

  // Sessions, each held, whose changes are committed together.
  void Create(SessionStore& store, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const std::string name = absl::StrCat("session", i);
      const auto created = store.Commit(Changes(Key(name), random_).Create());
      ASSERT_TRUE(created.ok()) << created.status();
      tokens_.emplace(name, *LeaseToken::Parse(created->receipt.token));
    }
  }
  void CommitTogetherOnce(SessionStore& store, size_t bytes) {
    std::vector<Change> changes;
    for (const auto& [name, token] : tokens_) {
      changes.push_back(Changes(Key(name), random_).Write(token));
      changes.back().messages = {Text(random_.Bytes(bytes))};
    }
    for (const auto& result : CommitTogether(store, changes)) {
      ASSERT_TRUE(result.ok()) << result.status();
    }
    ++messages_;
  }
  void ExpectAllMessages(SessionStore& store) {
    for (const auto& [name, token] : tokens_) {
      const auto found = Find(store, Key(name));
      ASSERT_TRUE(found.ok()) << name << ": " << found.status();
      EXPECT_EQ(found->messages.size(), messages_) << name;
    }
  }

  FakeClock clock_;
  SeededRandom random_;
  std::map<std::string, uint64_t> operations_;
  FileFault before_;
  std::vector<std::string> notes_;
  std::map<std::string, LeaseToken> tokens_;
  size_t messages_ = 0;
  MemoryDisk disk_;

 private:
  std::vector<std::unique_ptr<TempDir>> roots_;
};

TEST_F(WriteAhead, ChangesOfManySessionsShareOneSync) {
  const auto store = Open(disk_, {});
  Create(*store, kLoggedSessions);
  CommitTogetherOnce(*store, 1000);  // takes the files' first space
  operations_.clear();
  CommitTogetherOnce(*store, 1000);
  EXPECT_EQ(operations_["write wal/0"], 1U);
  EXPECT_EQ(operations_["sync"], 1U);
  EXPECT_EQ(operations_["write"], 1 + 2 * kLoggedSessions) << "each journal, and each watermark";
  store->Dispose();
}

// Of commits of 8 KB with 32 in flight, with the switches of the log and the rotations.
TEST_F(WriteAhead, CommitsTakeFewSyncs) {
  constexpr size_t kRounds = 1100;
  constexpr double kMostSyncs = 0.15;
  const auto store = Open(disk_, {});
  Create(*store, kLoggedSessions);
  operations_.clear();
  for (size_t round = 0; round < kRounds; ++round) {
    CommitTogetherOnce(*store, 8192);
    if (round % 16 == 0) {
      ASSERT_TRUE(store->ListDue(DueKind::kAbandoned, absl::Hours(1), {}, 1).ok());
    }
  }
  EXPECT_GT(operations_["write wal/1"], 0U) << "the log's files were not changed";
  EXPECT_GE(operations_["link"], 2 * kLoggedSessions) << "no rotations";
  const auto syncs = static_cast<double>(operations_["sync"] + operations_["sync directory"]);
  const double of_each = syncs / static_cast<double>(kRounds * kLoggedSessions);
  std::cout << "figure: " << of_each << " syncs a commit\n";
  EXPECT_LE(of_each, kMostSyncs);
  store->Dispose();
}

TEST_F(WriteAhead, AJournalThatIsClosedIsSynced) {
  const auto store = Open(disk_, {.open_sessions = 2});
  Create(*store, 1);
  CommitTogetherOnce(*store, 1000);
  operations_.clear();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(store->Commit(Changes(Key(absl::StrCat("other", i)), random_).Create()).ok());
  }
  EXPECT_EQ(operations_["sync t/default/session0/journal.log"], 1U);
  store->Dispose();
}

TEST_F(WriteAhead, WhatAPowerCutTookFromTheJournalsIsWrittenAgain) {
  const auto store = Open(disk_, {.log_bytes = kLogBytes});
  Create(*store, 3);
  for (int round = 0; round < 40; ++round) CommitTogetherOnce(*store, 900);
  MemoryDisk cut = disk_.After(CutKind::kNothing);
  EXPECT_NE(cut.Digest(), disk_.Digest());
  store->Dispose();
  operations_.clear();
  const auto again = Open(cut, {.log_bytes = kLogBytes});
  EXPECT_GT(operations_["write t/default/session0/journal.log"], 0U);
  ExpectAllMessages(*again);
  again->Dispose();
}

// A start that is cut is made again, at whichever of its operations that was.
TEST_F(WriteAhead, AStartThatIsCutIsMadeAgain) {
  const auto store = Open(disk_, {.log_bytes = kLogBytes});
  Create(*store, 3);
  for (int round = 0; round < 20; ++round) CommitTogetherOnce(*store, 900);
  size_t states = 0;
  for (const CutKind first : kCuts) {
    MemoryDisk cut = disk_.After(first);
    std::vector<MemoryDisk> left;
    before_ = [&](const FileOperation&) {
      for (const CutKind second : kCuts) left.push_back(cut.After(second));
      return absl::OkStatus();
    };
    Open(cut, {.log_bytes = kLogBytes})->Dispose();
    before_ = nullptr;
    std::set<std::string> seen;
    for (MemoryDisk& state : left) {
      if (!seen.insert(state.Digest()).second) continue;
      ++states;
      const auto again = Open(state, {.log_bytes = kLogBytes});
      ExpectAllMessages(*again);
      again->Dispose();
      if (HasFailure()) return;
    }
  }
  std::cout << "figure: " << states << " states of a start that was cut\n";
  EXPECT_GE(states, 50U);
  store->Dispose();
}

TEST_F(WriteAhead, ADamagedLogIsRefusedWithWhatToDo) {
  auto store = Open(disk_, {});
  Create(*store, 3);
  for (int round = 0; round < 3; ++round) CommitTogetherOnce(*store, 900);
  store->Dispose();
  std::string bytes = disk_.Read("wal/0");
  bytes[500] = static_cast<char>(bytes[500] ^ 1);
  disk_.Write("wal/0", bytes);
  store = Make(disk_, {});
  const absl::Status refused = store->Init();
  EXPECT_TRUE(Is(refused, Reason::kStoreUnavailable)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("wal/0 is damaged at byte 128"), HasSubstr("holdfastd store adopt")));
  store->Dispose();
  // An adoption goes on with what the journals have: after a kill that is everything.
  store = Open(disk_, {.adopt = true});
  EXPECT_THAT(notes_, ::testing::Contains(HasSubstr("what the journals lack is lost")));
  ExpectAllMessages(*store);
  CommitTogetherOnce(*store, 900);
  store->Dispose();
  store = Open(disk_, {});
  ExpectAllMessages(*store);
  store->Dispose();
}

TEST_F(WriteAhead, AfterAnOrderlyEndTheLogIsEmptyAndNotLookedAt) {
  auto store = Open(disk_, {});
  Create(*store, 3);
  CommitTogetherOnce(*store, 900);
  ASSERT_TRUE(store->Deactivate().ok());
  store->Dispose();
  EXPECT_LT(disk_.Read("wal/0").size(), kKiB);
  disk_.Write("wal/0", "damaged");
  store = Open(disk_, {});
  ExpectAllMessages(*store);
  store->Dispose();
}

// An upload is no part of the log, and a frame of it may follow one that is.
TEST_F(WriteAhead, AFrameThatIsTooLongForTheLogIsSyncedWithThoseBefore) {
  const auto store = Open(disk_, {});
  Create(*store, 1);
  CommitTogetherOnce(*store, 1000);
  operations_.clear();
  CommitTogetherOnce(*store, 2 * kMiB);
  EXPECT_EQ(operations_["sync wal/0"], 0U);
  EXPECT_EQ(operations_["sync"], 1U);
  CommitTogetherOnce(*store, 1000);
  MemoryDisk cut = disk_.After(CutKind::kNothing);
  store->Dispose();
  const auto again = Open(cut, {});
  ExpectAllMessages(*again);
  again->Dispose();
}

TEST_F(WriteAhead, WhatASessionWasBeforeItWasDeletedDoesNotComeBack) {
  const auto store = Open(disk_, {});
  Create(*store, 2);
  CommitTogetherOnce(*store, 1000);
  Changes first(Key("session0"), random_);
  EXPECT_TRUE(store->Commit(first.Close(tokens_.at("session0"))).ok());
  const auto deleted = store->Commit(first.Delete());
  ASSERT_TRUE(deleted.ok() && deleted->refusal.ok());
  for (const CutKind kind : kCuts) {
    MemoryDisk cut = disk_.After(kind);
    const auto again = Open(cut, {});
    EXPECT_TRUE(Find(*again, Key("session0"))->deleted);
    EXPECT_EQ(Find(*again, Key("session1"))->messages.size(), 1U);
    again->Dispose();
  }
  store->Dispose();
}

}  // namespace
}  // namespace holdfast::test
