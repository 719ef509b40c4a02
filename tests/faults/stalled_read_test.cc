// Reads and syncs of one session's files that hang: calls of this session wait in a
// ScopedBlockingCall, and the calls of all other sessions are served.
#include "platform/scoped_blocking_call.h"
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
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr size_t kReadingWorkers = 64;
constexpr size_t kCores = 2;
constexpr int kUnstalledSessions = 4;
constexpr int kCallsOfAlpha = 6;
constexpr size_t kReadRotateChanges = 4;
constexpr int kReadChanges = 10;  // two rotations

// Operations of one name on paths that contain a text: each waits in a ScopedBlockingCall, as a
// disk's reader does, until a test releases it.
class HeldOperations {
 public:
  void Hold(const std::string& name, const std::string& path) {
    const absl::MutexLock lock(&mutex_);
    name_ = name;
    path_ = path;
  }
  void Release() { Hold("", ""); }
  int waiting() {
    const absl::MutexLock lock(&mutex_);
    return waiting_;
  }
  absl::Status Pass(const FileOperation& operation) {
    const absl::MutexLock lock(&mutex_);
    if (operation.name != name_ || !absl::StrContains(operation.path, path_)) {
      return absl::OkStatus();
    }
    ++waiting_;
    AwaitBlocking(mutex_, absl::Condition(this, &HeldOperations::IsFree));
    return absl::OkStatus();
  }

 private:
  [[nodiscard]] bool IsFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return name_.empty(); }

  absl::Mutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::string path_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

class StalledRead : public ::testing::Test {
 protected:
  void SetUp() override {
    Open();
    Apply(alpha_.Create());
    for (int i = 1; i < kReadChanges; ++i) {
      sent_ = alpha_.Update({{"title", absl::StrCat(i)}});
      if (i == 1) oldest_ = sent_->request->id;
      Apply(*sent_);
    }
    for (int i = 0; i < kUnstalledSessions; ++i) {
      others_.push_back(std::make_unique<Changes>(Key(absl::StrCat("other-", i)), random_));
      Apply(others_.back()->Create());
    }
    store_->Dispose();
    Open();
  }
  void TearDown() override {
    held_.Release();
    store_->Dispose();
  }

  void Open() {
    fs::FsOptions options;
    options.root = directory_ / "root";
    options.rotate_changes = kReadRotateChanges;
    options.wrap_files =
        BreakBy([this](const FileOperation& operation) { return held_.Pass(operation); });
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
  }

  void Apply(const Change& change) {
    const auto result = store_->Commit(change);
    ASSERT_TRUE(result.ok() && result->kind == CommitResult::Kind::kApplied);
  }

  // Opens all sessions, so that nothing but what is held is read later.
  void Touch() {
    ASSERT_TRUE(store_->LoadForDecision(alpha_.key(), std::nullopt).ok());
    for (const auto& other : others_) {
      ASSERT_TRUE(store_->LoadForDecision(other->key(), std::nullopt).ok());
    }
  }

  // Submits a commit of each other session; true when all of them end.
  bool OthersAreServed(WorkerPool& pool) {
    for (const auto& other : others_) {
      EXPECT_TRUE(pool.Submit([this, change = other->Update({{"title", "x"}})] {
        EXPECT_TRUE(store_->Commit(change).ok());
        ++served_;
      }));
    }
    return holdfast::testing::WaitUntil([&] { return served_ == kUnstalledSessions; });
  }

  // Submits a load of alpha that asks for its oldest request.
  void SubmitLoad(WorkerPool& pool) {
    EXPECT_TRUE(pool.Submit([this] {
      const auto loaded = store_->LoadForDecision(alpha_.key(), oldest_);
      EXPECT_TRUE(loaded.ok()) << loaded.status();
      if (loaded.ok() && loaded->request && loaded->request->stamp.id == *oldest_) ++loaded_;
    }));
  }

  const TempDir directory_;
  FakeClock clock_;
  SeededRandom random_;
  HeldOperations held_;
  Changes alpha_{Key("alpha"), random_};
  std::optional<Change> sent_;
  std::optional<RequestId> oldest_;
  std::vector<std::unique_ptr<Changes>> others_;
  std::atomic<int> served_ = 0;
  std::atomic<int> loaded_ = 0;
  std::unique_ptr<SessionStore> store_;
};

TEST_F(StalledRead, ServesOtherSessionsWhenALoadReadsStoredRequests) {
  Touch();
  held_.Hold("read", "/index.");
  {
    WorkerPool pool({.workers = kReadingWorkers, .queued = 1000, .on_core = kCores});
    SubmitLoad(pool);
    ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return held_.waiting() > 0; }));
    for (int i = 1; i < kCallsOfAlpha; ++i) SubmitLoad(pool);
    EXPECT_TRUE(OthersAreServed(pool));
    EXPECT_EQ(loaded_, 0);
    EXPECT_EQ(held_.waiting(), 1) << "one call reads for all";
    held_.Release();
  }
  EXPECT_EQ(loaded_, kCallsOfAlpha);
}

TEST_F(StalledRead, ServesOtherSessionsWhenACommitReadsStoredRequests) {
  Touch();
  held_.Hold("read", "/index.");
  std::atomic<int> repeated = 0;
  {
    WorkerPool pool({.workers = kReadingWorkers, .queued = 1000, .on_core = kCores});
    EXPECT_TRUE(pool.Submit([&] {
      const auto result = store_->Commit(*sent_);
      if (result.ok() && result->kind == CommitResult::Kind::kRepeated) ++repeated;
    }));
    ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return held_.waiting() > 0; }));
    for (int i = 0; i < kCallsOfAlpha; ++i) SubmitLoad(pool);
    EXPECT_TRUE(OthersAreServed(pool));
    held_.Release();
  }
  EXPECT_EQ(loaded_, kCallsOfAlpha);
  EXPECT_EQ(repeated, 1);
}

TEST_F(StalledRead, RejectsCallsBeyondTheBoundWhenTheRequestsOfASessionCannotBeRead) {
  Touch();
  constexpr size_t kLoads = 3 * kWaitersPerSession;
  held_.Hold("read", "/index.");
  std::atomic<size_t> rejected = 0;
  {
    WorkerPool pool({.workers = kReadingWorkers, .queued = 1000});
    for (size_t i = 0; i < kLoads; ++i) {
      EXPECT_TRUE(pool.Submit([&] {
        const auto loaded = store_->LoadForDecision(alpha_.key(), oldest_);
        if (Is(loaded.status(), Reason::kOverloaded)) ++rejected;
      }));
    }
    // The one that reads is not one of those that wait.
    EXPECT_TRUE(
        holdfast::testing::WaitUntil([&] { return rejected == kLoads - 1 - kWaitersPerSession; }));
    held_.Release();
  }
  EXPECT_EQ(rejected, kLoads - 1 - kWaitersPerSession);
}

TEST_F(StalledRead, ServesFirstTouchesWhenADeleteSyncs) {
  const Changes& beta = *others_[0];
  ASSERT_TRUE(store_->LoadForDecision(alpha_.key(), std::nullopt).ok());
  ASSERT_TRUE(store_->LoadForDecision(beta.key(), std::nullopt).ok());
  clock_.Advance(absl::Minutes(2));  // their leases have ended
  held_.Hold("sync", "tombstones.log");
  std::atomic<int> deleted = 0;
  std::atomic<int> touched = 0;
  {
    WorkerPool pool({.workers = kReadingWorkers, .queued = 1000, .on_core = kCores});
    const auto submit_delete = [&](Change change) {
      EXPECT_TRUE(pool.Submit([this, &deleted, change = std::move(change)] {
        if (store_->Commit(change).ok()) ++deleted;
      }));
    };
    submit_delete(alpha_.Delete());
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return held_.waiting() == 1; }));
    submit_delete(others_[0]->Delete());
    for (size_t i = 1; i < others_.size(); ++i) {
      EXPECT_TRUE(pool.Submit([&, key = others_[i]->key()] {
        if (store_->LoadForDecision(key, std::nullopt).ok()) ++touched;
      }));
    }
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return touched == kUnstalledSessions - 1; }));
    held_.Release();
  }
  EXPECT_EQ(deleted, 2);
  EXPECT_EQ(touched, kUnstalledSessions - 1);
}

}  // namespace
}  // namespace holdfast::test
