// Every operation of a compaction: the power is cut before it, it fails, or there is no space for
// it. What was acknowledged is found, and the service goes on.
#include "platform/exceptions.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/faults/workload.h"
#include "tests/support/breaking_files.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kFaultyRotateChanges = 7;
constexpr int kCompactionRounds = 20;  // more than there are snapshots, so that slots die
constexpr size_t kLeastStates = 200;
constexpr size_t kLeastPoints = 50;

// Sessions of many sealed logs, most of whose slots are replaced, on a disk in memory.
class CompactionFaults : public ::testing::Test {
 protected:
  using Failure = std::function<absl::Status(const FileOperation& asked)>;

  // Sessions of so many turns each.
  void Fill(int rounds) {
    disk_ = MemoryDisk();
    workload_ = std::make_unique<Workload>(random_, rounds);
    const auto store = Make(OnDisk(disk_), root_);
    ASSERT_TRUE(store->Init().ok());
    EXPECT_TRUE(workload_->Run(*store).ok());
    ASSERT_TRUE(store->Deactivate().ok());
    store->Dispose();
  }

  // Opens a store over a copy of the disk, compacts with the n-th operation failing, and looks at
  // what is served then and after a restart. False when no operation was left to fail.
  bool FailOperation(size_t n, const Failure& failure, bool may_stop) {
    MemoryDisk disk = disk_.After(CutKind::kKilled);
    size_t seen = 0;
    bool counts = false;
    bool hit = false;
    const FileFault fault = [&](const FileOperation& asked) {
      if (!counts || ++seen != n) return absl::OkStatus();
      hit = true;
      return failure(asked);
    };
    const auto store = Make(BreakBy(disk, fault), root_);
    EXPECT_TRUE(store->Init().ok());
    EXPECT_EQ(workload_->Check(*store), "");
    counts = true;
    CatchException([&] { Compact(*store); });
    counts = false;
    const bool stopped = !store->CheckHealth().ok();
    EXPECT_TRUE(may_stop || !stopped) << n;
    if (!stopped) {
      EXPECT_EQ(workload_->Check(*store), "") << n;
    }
    store->Dispose();
    EXPECT_EQ(CheckState(disk.After(CutKind::kKilled)), "") << n << ", after a restart";
    return hit;
  }
  size_t FailEach(const Failure& failure, bool may_stop) {
    Fill(kCompactionRounds);
    size_t n = 1;
    while (!HasFailure() && FailOperation(n, failure, may_stop)) ++n;
    return n - 1;
  }

  // Adds the states in which a power cut can leave the disk; answers what is wrong with them.
  std::vector<std::string> Explore(MissingSyncs missing, std::set<std::string>& states) {
    std::vector<std::string> violations;
    MemoryDisk disk = disk_.After(CutKind::kKilled);
    bool looks = false;
    const auto before = [&](const std::string& operation, const std::string& path) {
      for (const CutKind cut : kCuts) {
        if (!looks) break;
        const MemoryDisk after = disk.After(cut);
        if (!states.insert(after.Digest()).second) continue;
        const std::string wrong = CheckState(after);
        if (wrong.empty()) continue;
        violations.push_back(absl::StrCat("before ", operation, " ", path, ", cut ",
                                          static_cast<int>(cut), ": ", wrong));
      }
      return absl::OkStatus();
    };
    const auto store =
        Make([&](std::unique_ptr<fs::Files>) { return disk.Open(before, missing); }, root_);
    EXPECT_TRUE(store->Init().ok());
    EXPECT_EQ(workload_->Check(*store), "");
    looks = true;
    Compact(*store);
    looks = false;
    store->Dispose();
    return violations;
  }

 private:
  std::unique_ptr<SessionStore> Make(fs::FilesWrapper files, const TempDir& root) {
    fs::FsOptions options;
    options.root = root / "root";  // only its lock is real
    options.rotate_changes = kFaultyRotateChanges;
    options.compact_in_sweeps = true;
    options.bounds.inline_entries = inline_entries_;
    options.wrap_files = std::move(files);
    return fs::MakeFsStore(std::move(options), clock_, random_);
  }
  // Compacts what is due in the sessions that are open.
  static void Compact(SessionStore& store) {
    store.ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10).IgnoreError();
  }
  // What is wrong with what a fresh store finds on `disk`; empty: nothing.
  std::string CheckState(MemoryDisk disk) {
    return CheckOpened(*Make(OnDisk(disk), reader_root_), *workload_);
  }

  TempDir root_;
  TempDir reader_root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  std::unique_ptr<Workload> workload_;

 protected:
  size_t inline_entries_ = fs::kInlineEntryBytes;
};

// The slots lie in runs: a compaction writes one of those that it moves, and runs are merged.
class MergeFaults : public CompactionFaults {
 protected:
  MergeFaults() { inline_entries_ = 0; }
};

TEST_F(CompactionFaults, APowerCutKeepsWhatWasAcknowledged) {
  std::set<std::string> states;
  for (const int rounds :
       {kCompactionRounds, kCompactionRounds + 4, kCompactionRounds + 8, kCompactionRounds + 12}) {
    Fill(rounds);
    for (const std::string& violation : Explore({}, states)) ADD_FAILURE() << violation;
  }
  EXPECT_GE(states.size(), kLeastStates);
  std::printf("figure: %zu distinct crash states of a compaction\n", states.size());
}

TEST_F(MergeFaults, APowerCutKeepsWhatWasAcknowledged) {
  std::set<std::string> states;
  for (const int rounds : {kCompactionRounds, kCompactionRounds + 9}) {
    Fill(rounds);
    for (const std::string& violation : Explore({}, states)) ADD_FAILURE() << violation;
  }
  EXPECT_GE(states.size(), kLeastStates);
  std::printf("figure: %zu distinct crash states of a merge\n", states.size());
}

TEST_F(MergeFaults, AnyOperationMayFail) {
  const size_t points =
      FailEach([](const FileOperation&) { return absl::UnavailableError("injected"); }, true);
  EXPECT_GE(points, kLeastPoints);
  std::printf("figure: %zu fault points of a merge\n", points);
}

TEST_F(MergeFaults, AnyOperationMayThrow) {
  const Failure failure = [](const FileOperation&) -> absl::Status { throw std::bad_alloc(); };
  EXPECT_GE(FailEach(failure, true), kLeastPoints);
}

TEST_F(MergeFaults, SpaceMayEndAtAnyOperation) {
  const Failure failure = [](const FileOperation&) {
    return absl::ResourceExhaustedError("injected");
  };
  EXPECT_GE(FailEach(failure, true), kLeastPoints);
}

TEST_F(MergeFaults, AShortageWhereAFileIsOpenedStopsNoStore) {
  const Failure failure = [](const FileOperation& asked) {
    const bool opens = asked.name == "open" || asked.name == "create";
    return opens ? absl::AbortedError("injected") : absl::OkStatus();
  };
  EXPECT_GE(FailEach(failure, false), kLeastPoints);
}

TEST_F(CompactionFaults, AMissingFileSyncIsFound) {
  Fill(kCompactionRounds);
  std::set<std::string> states;
  EXPECT_FALSE(Explore({.of_files = true}, states).empty());
}

// Of the new files' names. Where all names are lost alike the old files are found, as they should.
TEST_F(CompactionFaults, AMissingDirectorySyncIsFound) {
  Fill(kCompactionRounds);
  std::set<std::string> states;
  const MissingSyncs missing{.of_directories = true, .directories_ending = "/state"};
  EXPECT_FALSE(Explore(missing, states).empty());
}

TEST_F(CompactionFaults, AnyOperationMayFail) {
  const size_t points =
      FailEach([](const FileOperation&) { return absl::UnavailableError("injected"); }, true);
  EXPECT_GE(points, kLeastPoints);
  std::printf("figure: %zu fault points of a compaction\n", points);
}

TEST_F(CompactionFaults, AnyOperationMayThrow) {
  const Failure failure = [](const FileOperation&) -> absl::Status { throw std::bad_alloc(); };
  EXPECT_GE(FailEach(failure, true), kLeastPoints);
}

TEST_F(CompactionFaults, SpaceMayEndAtAnyOperation) {
  const Failure failure = [](const FileOperation&) {
    return absl::ResourceExhaustedError("injected");
  };
  EXPECT_GE(FailEach(failure, true), kLeastPoints);
}

TEST_F(CompactionFaults, AShortageWhereAFileIsOpenedStopsNoStore) {
  const Failure failure = [](const FileOperation& asked) {
    const bool opens = asked.name == "open" || asked.name == "create";
    return opens ? absl::AbortedError("injected") : absl::OkStatus();
  };
  EXPECT_GE(FailEach(failure, false), kLeastPoints);
}

}  // namespace
}  // namespace holdfast::test
