// Many calls of one session whose disk does not answer: they take a few of a server's threads, and
// the calls of all other sessions are served.
#include "server/worker_pool.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "store-fs/fs_store.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kWorkers = 64;
constexpr int kOthers = 16;
constexpr int kCallsOfEach = 4;

// Writes to one session's files that wait until a test lets them go.
class HeldWrites {
 public:
  absl::Status Pass(const FileOperation& operation) {
    if (operation.name != "write" || !absl::StrContains(operation.path, "/alpha/")) {
      return absl::OkStatus();
    }
    const absl::MutexLock lock(&mutex_);
    if (held_) ++waiting_;
    mutex_.Await(absl::Condition(this, &HeldWrites::IsFree));
    return absl::OkStatus();
  }
  void Hold() { Set(true); }
  void Release() { Set(false); }
  int waiting() {
    const absl::MutexLock lock(&mutex_);
    return waiting_;
  }

 private:
  void Set(bool held) {
    const absl::MutexLock lock(&mutex_);
    held_ = held;
  }
  [[nodiscard]] bool IsFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !held_; }

  absl::Mutex mutex_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

class StalledSession : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::FsOptions options;
    options.root = directory_ / "root";
    options.wrap_files =
        BreakBy([this](const FileOperation& operation) { return writes_.Pass(operation); });
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
    ASSERT_TRUE(store_->Commit(alpha_.Create()).ok());
    for (int i = 0; i < kOthers; ++i) {
      others_.push_back(std::make_unique<Changes>(Key(absl::StrCat("other-", i)), random_));
      ASSERT_TRUE(store_->Commit(others_.back()->Create()).ok());
    }
  }
  void TearDown() override { store_->Dispose(); }

  const TempDir directory_;
  FakeClock clock_;
  SeededRandom random_;
  HeldWrites writes_;
  Changes alpha_{Key("alpha"), random_};
  std::vector<std::unique_ptr<Changes>> others_;
  std::unique_ptr<SessionStore> store_;
};

TEST_F(StalledSession, LeavesWorkersToTheOthers) {
  std::atomic<size_t> refused = 0;
  std::atomic<size_t> applied = 0;
  std::atomic<int> served = 0;
  const auto commit = [&](const Change& change) {
    const auto result = store_->Commit(change);
    if (result.ok() && result->kind == CommitResult::Kind::kApplied) {
      ++applied;
      return;
    }
    EXPECT_TRUE(Is(result.status(), Reason::kOverloaded)) << result.status();
    EXPECT_EQ(RefusalOf(result.status()).facts().at("outcome"), "known");
    EXPECT_TRUE(RefusalOf(result.status()).retry_after().has_value());
    ++refused;
  };
  writes_.Hold();
  {
    WorkerPool pool({.workers = kWorkers, .queued = 1000});
    const auto submit = [&](Change change) {
      ASSERT_TRUE(pool.Submit([&commit, change = std::move(change)] { commit(change); }));
    };
    submit(alpha_.Update({{"title", "first"}}));
    ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return writes_.waiting() == 1; }));
    for (size_t i = 1; i < kWorkers; ++i) submit(alpha_.Update({{"title", absl::StrCat(i)}}));
    for (int call = 0; call < kCallsOfEach; ++call) {
      for (const auto& other : others_) {
        ASSERT_TRUE(pool.Submit([&, change = other->Update({{"title", "x"}})] {
          EXPECT_TRUE(store_->Commit(change).ok());
          ++served;
        }));
      }
    }
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return served == kOthers * kCallsOfEach; }));
    constexpr size_t kRefused = kWorkers - 1 - kWaitersPerSession;
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return refused == kRefused; })) << refused;
    EXPECT_EQ(applied, 0U);
    writes_.Release();
  }
  EXPECT_EQ(applied, 1 + kWaitersPerSession);
  EXPECT_TRUE(store_->Commit(alpha_.Update({{"title", "free"}})).ok());
}

}  // namespace
}  // namespace holdfast::test
