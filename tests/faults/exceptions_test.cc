// The work on a change throws: its own call fails by the exception, and no other one does.
#include "platform/exceptions.h"

#include "platform/scoped_blocking_call.h"
#include "store-fs/fs_store.h"
#include "tests/support/breaking_files.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

#include "absl/synchronization/notification.h"
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

// Counts the threads that wait for another one.
struct Waiting final : ScopedBlockingCall::Observer {
  void BlockingStarted() override { ++now; }
  void BlockingEnded(ScopedBlockingCall::Resume) override { --now; }
  std::atomic<size_t> now = 0;
};

class Exceptions : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::FsOptions options;
    options.root = directory_ / "root";
    options.wrap_files = BreakBy([this](const FileOperation& operation) {
      Meet(operation);
      return absl::OkStatus();
    });
    store_ = fs::MakeFsStore(std::move(options), clock_, random_);
    ASSERT_TRUE(store_->Init().ok());
    token_ = *LeaseToken::Parse(Apply(alpha_.Create()).token);
    turn_ = Apply(alpha_.Begin(token_)).turn;
    Apply(alpha_.Append(token_, turn_, {Note(turn_, 1, "a")}));
  }
  void TearDown() override {
    reading_throws_ = false;
    store_->Dispose();
  }

  Receipt Apply(const Change& change) {
    const auto result = store_->Commit(change);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->receipt : Receipt();
  }

  // To compare an entry with one that is stored, the journal is read.
  Change AppendAgain() { return alpha_.Append(token_, turn_, {Note(turn_, 1, "a")}); }

  // While a first change of the session is being synced the others queue up; `results` are theirs.
  void CommitTogether(const std::vector<Change>& changes,
                      std::vector<absl::StatusOr<CommitResult>>& results) {
    results.assign(changes.size(), absl::UnknownError("it threw"));
    Waiting waiting;
    std::vector<std::jthread> threads;
    holds_sync_ = true;
    threads.emplace_back([&] { Apply(alpha_.Update({{"title", "first"}})); });
    synced_.WaitForNotification();
    for (size_t i = 0; i < changes.size(); ++i) {
      threads.emplace_back([&, i] {
        ScopedBlockingCall::ObserveThisThread(waiting);
        CatchException([&] { results[i] = store_->Commit(changes[i]); });
      });
      EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return waiting.now == i + 1; }));
    }
    reading_throws_ = true;
    go_on_.Notify();
    threads.clear();
  }

  TempDir directory_;
  FakeClock clock_;
  SeededRandom random_;
  Changes alpha_{Key("alpha"), random_};
  LeaseToken token_;
  TurnNumber turn_;
  std::unique_ptr<SessionStore> store_;
  std::atomic<bool> reading_throws_ = false;

 private:
  void Meet(const FileOperation& operation) {
    if (operation.name == "read" && reading_throws_) throw std::bad_alloc();
    if (operation.name != "sync" || !holds_sync_.exchange(false)) return;
    synced_.Notify();
    go_on_.WaitForNotification();
  }

  std::atomic<bool> holds_sync_ = false;
  absl::Notification synced_;
  absl::Notification go_on_;
};

TEST_F(Exceptions, EndTheCallThatMeetsThem) {
  reading_throws_ = true;
  EXPECT_THROW(store_->Commit(AppendAgain()).IgnoreError(), std::bad_alloc);
  EXPECT_TRUE(store_->Commit(alpha_.Update({{"title", "x"}})).ok())
      << "the lead was not given back";
  reading_throws_ = false;
  EXPECT_TRUE(store_->Commit(AppendAgain()).ok());
}

TEST_F(Exceptions, FailNoOtherChangeOfTheirBatch) {
  const Change throws = AppendAgain();
  std::vector<absl::StatusOr<CommitResult>> results;
  CommitTogether({alpha_.Update({{"title", "before"}}), throws, alpha_.Update({{"x", "behind"}})},
                 results);
  EXPECT_TRUE(results[0].ok());
  EXPECT_EQ(results[1].status(), absl::UnknownError("it threw"));
  EXPECT_TRUE(results[2].ok());
  const auto loaded = store_->LoadForDecision(alpha_.key(), std::nullopt);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->head.attributes.at("title"), "before");
  EXPECT_EQ(loaded->head.attributes.at("x"), "behind");
}

// One that is not open yet is opened by the first call, and the others wait for that.
TEST_F(Exceptions, LeaveASessionToBeOpenedByTheNextCall) {
  store_->Dispose();
  fs::FsOptions options;
  options.root = directory_ / "root";
  std::atomic<bool> throws = false;
  options.wrap_files = BreakBy([&](const FileOperation&) {
    if (throws) throw std::bad_alloc();
    return absl::OkStatus();
  });
  store_ = fs::MakeFsStore(std::move(options), clock_, random_);
  ASSERT_TRUE(store_->Init().ok());
  throws = true;
  EXPECT_THROW(store_->LoadForDecision(alpha_.key(), std::nullopt).IgnoreError(), std::bad_alloc);
  throws = false;
  EXPECT_TRUE(store_->LoadForDecision(alpha_.key(), std::nullopt).ok());
  store_->Dispose();
}

}  // namespace
}  // namespace holdfast::test
