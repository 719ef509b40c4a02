// Every state in which a power cut or a kill can leave the disk, at every operation of a workload:
// what was acknowledged is found, nothing half-written is seen, and the service goes on.
#include "store-fs/fs_store.h"
#include "tests/faults/workload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_files.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kRotateChanges = 7;  // so that rotations meet every kind of change

// Explores the states of one run.
class Explorer {
 public:
  explicit Explorer(MissingSyncs missing) : missing_(missing) {}

  void Run() {
    const auto before = [this](const std::string& operation, const std::string& path) {
      LookAtCuts(operation + " " + path);
      return absl::OkStatus();
    };
    const auto store = MakeStore(disk_, before, missing_);
    ASSERT_TRUE(store->Init().ok());
    workload_ = std::make_unique<Workload>(random_);
    EXPECT_TRUE(workload_->Run(*store).ok());
    EXPECT_TRUE(workload_->finished());
    store->Dispose();
  }

  [[nodiscard]] size_t states() const { return states_.size(); }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  template <typename Before>
  std::unique_ptr<SessionStore> MakeStore(MemoryDisk& disk, Before before, MissingSyncs missing) {
    fs::FsOptions options;
    options.root = root_ / "root";  // only its lock is real
    options.rotate_changes = kRotateChanges;
    options.wrap_files = [&disk, before, missing](std::unique_ptr<fs::Files>) {
      return disk.Open(before, missing);
    };
    return fs::MakeFsStore(std::move(options), clock_, random_);
  }

  void LookAtCuts(const std::string& operation) {
    if (workload_ == nullptr) return;  // the root itself is being made
    for (const CutKind cut : kCuts) {
      MemoryDisk after = disk_.After(cut);
      const std::string digest = after.Digest();
      states_.insert(digest);
      // The same state means something else once more has been acknowledged.
      if (!judged_.emplace(digest, workload_->acknowledged()).second) continue;
      const std::string wrong = Judge(after);
      if (wrong.empty()) continue;
      violations_.push_back("before " + operation + ", cut " +
                            std::to_string(static_cast<int>(cut)) + ": " + wrong);
    }
  }

  std::string Judge(MemoryDisk& disk) {
    SeededRandom random(7);
    fs::FsOptions options;
    options.root = reader_root_ / "root";
    options.rotate_changes = kRotateChanges;
    const auto calm = [](const std::string&, const std::string&) { return absl::OkStatus(); };
    options.wrap_files = [&disk, calm](std::unique_ptr<fs::Files>) { return disk.Open(calm); };
    const auto store = fs::MakeFsStore(std::move(options), clock_, random);
    const absl::Status opened = store->Init();
    if (!opened.ok()) return "the store does not open: " + std::string(opened.message());
    std::string wrong = workload_->Check(*store);
    if (wrong.empty()) wrong = workload_->GoOn(*store);
    store->Dispose();
    return wrong;
  }

  const MissingSyncs missing_;
  TempDir root_;
  TempDir reader_root_;
  FakeClock clock_;
  SeededRandom random_;
  MemoryDisk disk_;
  std::unique_ptr<Workload> workload_;
  std::set<std::string> states_;
  std::set<std::pair<std::string, size_t>> judged_;
  std::vector<std::string> violations_;
};

TEST(CrashStates, EveryOneKeepsWhatWasAcknowledged) {
  Explorer explorer({});
  explorer.Run();
  for (const std::string& violation : explorer.violations()) ADD_FAILURE() << violation;
  EXPECT_GE(explorer.states(), 500U);
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
