// When workers count as stalled: what the health service says by the name of `liveness`.
#include "server/worker_stall.h"

#include "platform/scoped_blocking_call.h"
#include "session/limits.h"
#include "tests/support/fake_clock.h"
#include "tests/support/wait.h"

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::test {
namespace {

constexpr size_t kCores = 2;
constexpr size_t kWorkers = 4;

class WorkerStallTest : public ::testing::Test {
 protected:
  ~WorkerStallTest() override {
    if (!go_.HasBeenNotified()) go_.Notify();
    pool_.reset();
  }

  // Occupies `count` workers until Go.
  void Occupy(size_t count) {
    absl::BlockingCounter begun(static_cast<int>(count));
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(pool_->Submit([&] {
        begun.DecrementCount();
        go_.WaitForNotification();
      }));
    }
    begun.Wait();
  }
  void OccupyBlocked(size_t count) {
    absl::BlockingCounter begun(static_cast<int>(count));
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(pool_->Submit([&] {
        const ScopedBlockingCall blocking;
        begun.DecrementCount();
        go_.WaitForNotification();
      }));
    }
    begun.Wait();
  }
  void Go() { go_.Notify(); }

  // Whether the workers are stalled after `passed`, with looks on the beat.
  bool StalledAfter(absl::Duration passed) {
    for (absl::Duration at; at < passed; at += kWorkerBeat) {
      clock_.Advance(kWorkerBeat);
      stall_.Look(pool_->CurrentActivity(), clock_.SinceBoot());
    }
    return stall_.Stalled(clock_.SinceBoot());
  }

  WorkerPool& pool() { return *pool_; }
  FakeClock& clock() { return clock_; }
  WorkerStall& stall() { return stall_; }

 private:
  FakeClock clock_;
  WorkerStall stall_{clock_.SinceBoot()};
  absl::Notification go_;
  std::optional<WorkerPool> pool_{
      std::in_place, WorkerPool::Size{.workers = kWorkers, .queued = 10, .on_core = kCores}};
};

TEST_F(WorkerStallTest, IsNoneWithoutWork) { EXPECT_FALSE(StalledAfter(2 * kWorkerStallMost)); }

TEST_F(WorkerStallTest, IsNoneWhileNothingWaits) {
  Occupy(kCores);
  EXPECT_FALSE(StalledAfter(2 * kWorkerStallMost));
}

TEST_F(WorkerStallTest, IsWhereTasksWaitAndNoWorkerMakesProgress) {
  Occupy(kCores);
  ASSERT_TRUE(pool().Submit([] {}));
  EXPECT_FALSE(StalledAfter(kWorkerStallMost - kWorkerBeat));
  EXPECT_TRUE(StalledAfter(2 * kWorkerBeat));
  Go();
  ASSERT_TRUE(testing::WaitUntil([&] { return pool().CurrentLoad().queued == 0; }));
  EXPECT_FALSE(StalledAfter(kWorkerBeat)) << "the workers go on";
}

TEST_F(WorkerStallTest, IsNoneWhileWorkersWaitForTheStore) {
  OccupyBlocked(kWorkers);
  ASSERT_TRUE(pool().Submit([] {}));
  ASSERT_EQ(pool().CurrentLoad().queued, 1);
  EXPECT_FALSE(StalledAfter(2 * kWorkerStallMost));
}

TEST(WorkerStall, IsAlsoWhereThereAreFewerWorkersThanCores) {
  absl::Notification go;
  absl::Notification begun;
  WorkerPool pool({.workers = 1, .queued = 1, .on_core = 8});
  ASSERT_TRUE(pool.Submit([&] {
    begun.Notify();
    go.WaitForNotification();
  }));
  begun.WaitForNotification();
  ASSERT_TRUE(pool.Submit([] {}));
  EXPECT_TRUE(pool.CurrentActivity().wait_for_core);
  go.Notify();
}

// Tasks wait all the time, one core is lost, and the other one's worker goes from task to task.
TEST_F(WorkerStallTest, IsNoneWhileOneWorkerMakesProgress) {
  Occupy(kCores - 1);
  constexpr size_t kTasks = 10;
  std::array<absl::Notification, kTasks> ends;
  for (absl::Notification& end : ends) {
    EXPECT_TRUE(pool().Submit([&end] { end.WaitForNotification(); }));
  }
  for (size_t task = 0; task + 1 < kTasks; ++task) {
    EXPECT_TRUE(pool().CurrentActivity().wait_for_core);
    EXPECT_FALSE(StalledAfter(kWorkerStallMost - kWorkerBeat)) << task;
    const uint64_t steps = pool().CurrentActivity().steps;
    ends[task].Notify();
    EXPECT_TRUE(testing::WaitUntil([&] { return pool().CurrentActivity().steps > steps; }));
  }
  ends.back().Notify();
  // No task uses what this function owns any more.
  EXPECT_TRUE(testing::WaitUntil([&] {
    const WorkerPool::Load load = pool().CurrentLoad();
    return load.queued == 0 && load.busy == kCores - 1;
  }));
}

TEST_F(WorkerStallTest, IsWhereNothingLooks) {
  EXPECT_FALSE(StalledAfter(kWorkerBeat));
  clock().Advance(kWorkerStallMost);
  EXPECT_TRUE(stall().Stalled(clock().SinceBoot()));
}

}  // namespace
}  // namespace holdfast::test
