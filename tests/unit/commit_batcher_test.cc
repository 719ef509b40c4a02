// Calls that are committed together: what a batch holds, which calls go alone, and what faults do.
#include "server/rpc/call/commit_batcher.h"

#include "session/refusal.h"
#include "tests/support/changes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/faulty_store.h"
#include "tests/support/reference_disk.h"
#include "tests/support/reference_store.h"
#include "tests/support/seeded_random.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using GroupedKind = GroupedResult::Kind;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr size_t kQueued = 3 * kBatchedCalls;

// A call whose command is decided already.
class FixedMember final : public CommitBatcher::Member {
 public:
  // Of nothing to commit, if there is no change.
  explicit FixedMember(std::optional<Change> change) : change_(std::move(change)) {}
  void Throw() { throws_ = true; }

  std::optional<GroupedChange> Decide() override {
    const absl::MutexLock lock(&mutex_);
    decided_ = true;
    if (throws_) throw std::runtime_error("it threw");
    if (!change_) return std::nullopt;
    return GroupedChange{.change = &*change_, .span = {}};
  }
  void Settle(GroupedResult result) override {
    const absl::MutexLock lock(&mutex_);
    result_ = std::move(result);
  }

  [[nodiscard]] bool decided() {
    const absl::MutexLock lock(&mutex_);
    return decided_;
  }
  // Waits for it.
  GroupedKind Result() {
    const absl::MutexLock lock(&mutex_);
    const auto settled = [this] { return result_.has_value(); };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&settled), absl::Minutes(1)));
    return result_ ? result_->kind : GroupedKind::kAlone;
  }

 private:
  const std::optional<Change> change_;
  bool throws_ = false;
  absl::Mutex mutex_;
  bool decided_ = false;
  std::optional<GroupedResult> result_;
};

class Batcher : public ::testing::Test {
 protected:
  Batcher() {
    auto disk = std::make_shared<ReferenceDisk>(NewReferenceDisk(random_));
    auto store = std::make_unique<FaultyStore>(std::make_unique<ReferenceStore>(disk, clock_));
    store_ = std::move(store);
    store_->OfferGroups(1);
    EXPECT_TRUE(store_->Init().ok());
    EXPECT_TRUE(store_->Activate().ok());
    batcher_ = std::make_unique<CommitBatcher>(*store_, pool_, [this](const std::string& what) {
      const absl::MutexLock lock(&mutex_);
      reports_.push_back(what);
    });
  }
  ~Batcher() override { EXPECT_TRUE(store_->Deactivate().ok()); }

  // A write of a session that is made for it.
  Change Writing(const std::string& session) {
    Changes changes(Key(session), random_);
    const auto created = store_->Commit(changes.Create());
    EXPECT_TRUE(created.ok());
    return changes.Write(*LeaseToken::Parse(created->receipt.token));
  }
  FixedMember& Add(std::optional<Change> change, size_t bytes = 1) {
    FixedMember& member = members_.emplace_back(std::move(change));
    EXPECT_TRUE(batcher_->Add(member, bytes));
    return member;
  }
  // Adds a first call, and returns when the store is busy with it.
  FixedMember& HoldStore() {
    held_ = store_->Hold(FaultyCall::kCommitMany);
    FixedMember& first = Add(Writing("held"));
    held_->WaitUntilReached();
    before_ = store_->Calls(FaultyCall::kCommitMany);
    return first;
  }
  int CallsBehindHeld() { return store_->Calls(FaultyCall::kCommitMany) - before_; }

  FakeClock clock_;
  SeededRandom random_;
  WorkerPool pool_{{.workers = 1, .queued = kQueued}};
  std::unique_ptr<FaultyStore> store_;
  std::list<FixedMember> members_;
  std::shared_ptr<HeldCall> held_;
  int before_ = 0;
  absl::Mutex mutex_;
  std::vector<std::string> reports_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<CommitBatcher> batcher_;  // the last, so that it ends before what it uses
};

TEST_F(Batcher, CommitsOneCallAtOnce) {
  EXPECT_EQ(Add(Writing("one")).Result(), GroupedKind::kDone);
  EXPECT_EQ(store_->Calls(FaultyCall::kCommitMany), 1);
}

TEST_F(Batcher, DecidesWhatComesWhileTheStoreIsBusyAndCommitsItTogether) {
  FixedMember& first = HoldStore();
  std::vector<FixedMember*> others;
  for (int i = 0; i < 5; ++i) others.push_back(&Add(Writing(absl::StrCat("other-", i))));
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return others.back()->decided(); }));
  held_->Open();
  EXPECT_EQ(first.Result(), GroupedKind::kDone);
  for (FixedMember* other : others) EXPECT_EQ(other->Result(), GroupedKind::kDone);
  EXPECT_EQ(CallsBehindHeld(), 1);
}

TEST_F(Batcher, TakesNoMoreCallsThanABatchHas) {
  HoldStore();
  std::vector<FixedMember*> others;
  for (size_t i = 0; i < kBatchedCalls + 1; ++i) {
    others.push_back(&Add(Writing(absl::StrCat("other-", i))));
  }
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return others[kBatchedCalls - 1]->decided(); }));
  EXPECT_FALSE(others.back()->decided());
  held_->Open();
  for (FixedMember* other : others) EXPECT_EQ(other->Result(), GroupedKind::kDone);
  EXPECT_EQ(CallsBehindHeld(), 2);
}

TEST_F(Batcher, TakesNoMoreBytesThanABatchHas) {
  HoldStore();
  FixedMember& most = Add(Writing("most"), kChangeBytes);
  FixedMember& more = Add(Writing("more"), 1);
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return most.decided(); }));
  held_->Open();
  EXPECT_EQ(most.Result(), GroupedKind::kDone);
  EXPECT_EQ(more.Result(), GroupedKind::kDone);
  EXPECT_EQ(CallsBehindHeld(), 2);
}

TEST_F(Batcher, LeavesASecondChangeOfASessionAlone) {
  HoldStore();
  const Change change = Writing("one");
  FixedMember& first = Add(change);
  FixedMember& second = Add(change);
  FixedMember& other = Add(Writing("other"));
  held_->Open();
  EXPECT_EQ(second.Result(), GroupedKind::kAlone);
  EXPECT_EQ(first.Result(), GroupedKind::kDone);
  EXPECT_EQ(other.Result(), GroupedKind::kDone);
}

TEST_F(Batcher, AsksNothingOfTheStoreForWhatNeedsNoCommit) {
  FixedMember& nothing = Add(std::nullopt);
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return nothing.decided(); }));
  EXPECT_EQ(Add(Writing("one")).Result(), GroupedKind::kDone);
  EXPECT_EQ(store_->Calls(FaultyCall::kCommitMany), 1);
}

// Where one of them may have been written, each of them may.
TEST_F(Batcher, LeavesAllInDoubtBehindAnException) {
  HoldStore();
  const Change throws = Writing("throws");
  store_->InjectFault(throws.key, []() -> absl::Status { throw std::runtime_error("it threw"); });
  FixedMember& first = Add(Writing("first"));
  FixedMember& second = Add(throws);
  FixedMember& third = Add(Writing("third"));
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return third.decided(); }));
  held_->Open();
  EXPECT_THAT((std::vector{first.Result(), second.Result(), third.Result()}),
              Each(GroupedKind::kInDoubt));
  EXPECT_EQ(pool_.Exceptions(), 1U);
  EXPECT_EQ(Add(Writing("after")).Result(), GroupedKind::kDone) << "its thread serves on";
  const absl::MutexLock lock(&mutex_);
  EXPECT_THAT(reports_, ElementsAre("it threw"));
}

TEST_F(Batcher, LosesNoOtherCallWhenADecisionThrows) {
  HoldStore();
  FixedMember& first = Add(Writing("first"));
  FixedMember& throws = members_.emplace_back(Writing("throws"));
  throws.Throw();
  EXPECT_TRUE(batcher_->Add(throws, 1));
  FixedMember& third = Add(Writing("third"));
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return third.decided(); }));
  held_->Open();
  EXPECT_EQ(first.Result(), GroupedKind::kDone);
  EXPECT_EQ(third.Result(), GroupedKind::kDone);
  EXPECT_EQ(pool_.Exceptions(), 1U);
}

TEST_F(Batcher, SettlesEachByWhatBecameOfIt) {
  HoldStore();
  FixedMember& first = Add(Writing("first"));
  FixedMember& fails = Add(Writing("fails"));
  FixedMember& lost = Add(Writing("lost"));
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return lost.decided(); }));
  // Counted from the one that is held.
  store_->Fail(FaultyCall::kCommit, 3);
  store_->LoseReply(FaultyCall::kCommit, 4);
  held_->Open();
  EXPECT_EQ(first.Result(), GroupedKind::kDone);
  EXPECT_EQ(fails.Result(), GroupedKind::kAlone);
  EXPECT_EQ(lost.Result(), GroupedKind::kInDoubt);
}

TEST_F(Batcher, SharesTheBoundOfThePoolsQueue) {
  HoldStore();
  const Change change = Writing("one");
  // A batch of them has been decided and waits for the store: it has left the queue.
  std::vector<FixedMember*> taken;
  for (size_t i = 0; i < kBatchedCalls; ++i) {
    taken.push_back(&Add(Writing(absl::StrCat("taken-", i))));
  }
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return taken.back()->decided(); }));
  for (size_t i = 0; i < kQueued; ++i) Add(change);
  EXPECT_EQ(pool_.CurrentLoad().queued, kQueued);
  FixedMember& refused = members_.emplace_back(change);
  EXPECT_FALSE(batcher_->Add(refused, 1));
  held_->Open();
  for (FixedMember& member : members_) {
    if (&member != &refused) member.Result();
  }
  EXPECT_EQ(pool_.CurrentLoad().queued, 0U);
}

TEST_F(Batcher, DoesWhatIsQueuedBeforeItEnds) {
  HoldStore();
  std::vector<FixedMember*> others;
  for (int i = 0; i < 3; ++i) others.push_back(&Add(Writing(absl::StrCat("other-", i))));
  std::thread ends([this] { batcher_.reset(); });
  held_->Open();
  ends.join();
  for (FixedMember* other : others) EXPECT_EQ(other->Result(), GroupedKind::kDone);
}

}  // namespace
}  // namespace holdfast::test
