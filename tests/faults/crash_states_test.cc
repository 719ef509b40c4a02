// Every state in which a power cut or a kill can leave the disk, at every operation of a workload:
// what was acknowledged is found, nothing half-written is seen, and the service goes on.
#include "session/limits.h"
#include "store-fs/fs_store.h"
#include "tests/faults/served_state.h"
#include "tests/faults/workload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr int kCrashRounds = 8;
constexpr size_t kCrashRotateChanges = 7;       // so that rotations meet every kind of change
constexpr uint64_t kCrashLogBytes = 16 * kKiB;  // so that the write-ahead log changes its files
// What counts as a crash state.
constexpr size_t kServedOneIn = 100;
constexpr size_t kLeastOfAClass = 200;

// Explores the states of one run.
class Explorer {
 public:
  // With `serve`, a real server opens some of the states too.
  explicit Explorer(MissingSyncs missing, bool serve = false) : missing_(missing), serve_(serve) {}
  // Every slot version that a rotation meets is written to a run.
  void UseRuns() { bounds_.inline_entries = 0; }

  void Run() {
    const auto before = [this](const std::string& operation, const std::string& path) {
      LookAtCuts(operation, path);
      return absl::OkStatus();
    };
    const auto store = MakeStore(disk_, before, missing_);
    ASSERT_TRUE(store->Init().ok());
    workload_ = std::make_unique<Workload>(random_, kCrashRounds);
    EXPECT_TRUE(workload_->Run(*store).ok());
    EXPECT_TRUE(workload_->finished());
    store->Dispose();
  }

  [[nodiscard]] size_t states() const { return states_.size(); }
  // How many of each class; one may be of several.
  [[nodiscard]] const std::map<std::string, size_t>& classes() const { return classes_; }
  // How many were opened by a real server.
  [[nodiscard]] size_t served() const { return served_; }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  template <typename Before>
  std::unique_ptr<SessionStore> MakeStore(MemoryDisk& disk, Before before, MissingSyncs missing) {
    fs::FsOptions options;
    options.root = root_ / "root";  // only its lock is real
    options.rotate_changes = kCrashRotateChanges;
    options.bounds = bounds_;
    options.wrap_files = [&disk, before, missing](std::unique_ptr<fs::Files>) {
      return disk.Open(before, missing);
    };
    return fs::MakeFsStore(std::move(options), clock_, random_);
  }

  void LookAtCuts(const std::string& operation, const std::string& path) {
    if (workload_ == nullptr) return;  // the root itself is being made
    for (const CutKind cut : kCuts) {
      MemoryDisk after = disk_.After(cut);
      const std::string digest = after.Digest();
      if (states_.insert(digest).second) LookAtNew(after, path, cut);
      // The same state means something else once more has been acknowledged.
      if (!checked_.emplace(digest, workload_->acknowledged()).second) continue;
      const std::string wrong = CheckState(after);
      if (wrong.empty()) continue;
      violations_.push_back("before " + operation + " " + path + ", cut " +
                            std::to_string(static_cast<int>(cut)) + ": " + wrong);
    }
  }

  void LookAtNew(const MemoryDisk& state, const std::string& path, CutKind cut) {
    const auto in = [&](const char* part) { return path.find(part) != std::string::npos; };
    const bool names_lost = cut == CutKind::kNothing || cut == CutKind::kBytesOnly;
    classes_["torn"] += cut == CutKind::kTorn ? 1 : 0;
    classes_["zero-headed"] += cut == CutKind::kZeroHeaded ? 1 : 0;
    classes_["missing entry"] += names_lost ? 1 : 0;
    classes_["rotation"] += in("/state") || in(".manifest") || in(".journal") ? 1 : 0;
    classes_["log"] += in("wal/") ? 1 : 0;
    classes_["switch of the log"] += in("wal/1") ? 1 : 0;
    classes_["audit"] += in("journal.log") && workload_->audited() ? 1 : 0;
    classes_["delete"] += in("tombstones.log") || in(".deleted") ? 1 : 0;
    if (!serve_ || states_.size() % kServedOneIn != 0) return;
    ++served_;
    const std::string wrong = CheckServed(state, *workload_);
    if (!wrong.empty())
      violations_.push_back("served, before an operation on " + path + ": " + wrong);
  }

  std::string CheckState(MemoryDisk& disk) {
    SeededRandom random(7);
    fs::FsOptions options;
    options.root = reader_root_ / "root";
    options.rotate_changes = kCrashRotateChanges;
    options.bounds = bounds_;
    options.wrap_files = OnDisk(disk);
    return CheckOpened(*fs::MakeFsStore(std::move(options), clock_, random), *workload_);
  }

  const MissingSyncs missing_;
  const bool serve_;
  fs::Bounds bounds_{.write_ahead = kCrashLogBytes};
  TempDir root_;
  TempDir reader_root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  std::unique_ptr<Workload> workload_;
  std::set<std::string> states_;
  std::set<std::pair<std::string, size_t>> checked_;
  std::vector<std::string> violations_;
  std::map<std::string, size_t> classes_;
  size_t served_ = 0;
};

TEST(CrashStates, EveryOneKeepsWhatWasAcknowledged) {
  Explorer explorer({}, /*serve=*/true);
  explorer.Run();
  for (const std::string& violation : explorer.violations()) ADD_FAILURE() << violation;
  EXPECT_GE(explorer.states(), 1000U);
  EXPECT_GE(explorer.served(), explorer.states() / kServedOneIn);
  for (const auto& [name, count] : explorer.classes()) {
    EXPECT_GE(count, kLeastOfAClass) << name;
    std::printf("%zu %s\n", count, name.c_str());
  }
  std::printf("%zu opened by a real server\n", explorer.served());
  std::printf("figure: %zu distinct crash states\n", explorer.states());
}

TEST(CrashStates, WithSlotsInRunsEveryOneKeepsWhatWasAcknowledged) {
  Explorer explorer({});
  explorer.UseRuns();
  explorer.Run();
  for (const std::string& violation : explorer.violations()) ADD_FAILURE() << violation;
  EXPECT_GE(explorer.states(), 1000U);
  std::printf("figure: %zu distinct crash states\n", explorer.states());
}

// The saboteurs: a store that forgets a kind of sync must be found out by the same exploration.
TEST(CrashStates, AMissingFileSyncIsFound) {
  Explorer explorer({.of_files = true});
  explorer.Run();
  EXPECT_FALSE(explorer.violations().empty());
}

TEST(CrashStates, AMissingDirectorySyncIsFound) {
  Explorer explorer({.of_directories = true});
  explorer.Run();
  EXPECT_FALSE(explorer.violations().empty());
}

}  // namespace
}  // namespace holdfast::test
