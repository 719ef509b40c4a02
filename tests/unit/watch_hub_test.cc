// The thread that wakes watchers goes on behind a watcher, or a wait, that throws.
#include "server/rpc/watch/watch_hub.h"

#include "tests/support/wait.h"
#include "tests/unit/sessions_world.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CountedWatcher final : public Watcher {
 public:
  enum class Kind : uint8_t { kSound, kThrows };

  explicit CountedWatcher(Kind kind) : kind_(kind) {}
  void Wake() override { Call(wakes_); }
  void Resume() override {}
  void Tend(absl::Duration) override { Call(beats_); }
  absl::Duration Lag(absl::Time) override { return lag; }
  void Leave() override {}

  absl::Duration lag;

  [[nodiscard]] int wakes() const { return wakes_; }
  [[nodiscard]] int beats() const { return beats_; }

 private:
  void Call(std::atomic<int>& calls) {
    ++calls;
    if (kind_ == Kind::kThrows) throw std::runtime_error("thrown by a watcher");
  }

  const Kind kind_;
  std::atomic<int> wakes_ = 0;
  std::atomic<int> beats_ = 0;
};

TEST(WatchHub, TakesFewOfTheWorkers) {
  const WatchLimits limits{.watchers = 7};
  const WorkerPool::Size many = DeliveryShare({.workers = 64, .on_core = 8}, limits);
  EXPECT_EQ(many.workers, 64 / kWorkersPerDelivery);
  EXPECT_EQ(many.on_core, 8 / kWorkersPerDelivery);
  EXPECT_EQ(many.queued, 7U);
  EXPECT_EQ(DeliveryShare({.workers = 1, .on_core = 1}, limits).workers, 1U);
}

// A wake-up that was lost costs each watcher so many beats and the store so many reads a beat.
TEST(WatchHub, PollsABoundedNumberOfWatchersPerBeatAndEachInTurn) {
  World world;
  world.Create();
  // What has happened so far wakes none of them.
  ASSERT_TRUE(world.store().WaitForEvents(absl::Seconds(10)).ok());
  Admission admission(kMemoryBudgetDefault);
  WatchHub hub({.store = world.store(),
                .clock = world.clock(),
                .admission = admission,
                .deliveries = {.workers = 1, .queued = 8},
                .report = [](const std::string&) {}},
               {});
  const WatchStart start{
      .key = world.key(),
      .uid = world.Stored().uid,
      .cursors = WatchCursors(world.store().Describe(), world.key(), world.Stored().uid)};
  constexpr size_t kBeats = 3;
  std::vector<std::shared_ptr<CountedWatcher>> watchers;
  while (watchers.size() < kBeats * kWatchPollsPerBeat) {
    watchers.push_back(std::make_shared<CountedWatcher>(CountedWatcher::Kind::kSound));
    ASSERT_TRUE(hub.Add(start, watchers.back()).ok());
  }
  const auto wakes = [&] {
    size_t all = 0;
    for (const auto& watcher : watchers) all += static_cast<size_t>(watcher->wakes());
    return all;
  };
  for (size_t beat = 1; beat <= kBeats; ++beat) {
    world.clock().Advance(kWatchBeat);
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] { return wakes() >= beat * kWatchPollsPerBeat; }));
    EXPECT_EQ(wakes(), beat * kWatchPollsPerBeat);
  }
  EXPECT_TRUE(
      std::ranges::all_of(watchers, [](const auto& watcher) { return watcher->wakes() == 1; }));
  for (const auto& watcher : watchers) hub.Remove(world.key(), *watcher);
}

TEST(WatchHub, WakesAllOthersWhenOneWatcherThrows) {
  World world;
  world.Create();
  Admission admission(kMemoryBudgetDefault);
  absl::Mutex mutex;
  std::vector<std::string> reported;
  WatchHub hub({.store = world.store(),
                .clock = world.clock(),
                .admission = admission,
                .deliveries = {.workers = 1, .queued = 8},
                .report =
                    [&](const std::string& what) {
                      const absl::MutexLock lock(&mutex);
                      reported.push_back(what);
                    }},
               {});
  const WatchStart start{
      .key = world.key(),
      .uid = world.Stored().uid,
      .cursors = WatchCursors(world.store().Describe(), world.key(), world.Stored().uid)};
  using Kind = CountedWatcher::Kind;
  // They are woken in the order of their addresses: with two that throw and two that do not, one
  // of the latter comes behind one of the former, whatever the addresses.
  std::vector<std::shared_ptr<CountedWatcher>> watchers;
  for (const Kind kind : {Kind::kThrows, Kind::kSound, Kind::kSound, Kind::kThrows}) {
    watchers.push_back(std::make_shared<CountedWatcher>(kind));
    ASSERT_TRUE(hub.Add(start, watchers.back()).ok());
  }
  const auto all_at_least = [&](int wakes, int beats) {
    return holdfast::testing::WaitUntil([&] {
      return std::ranges::all_of(watchers, [&](const auto& watcher) {
        return watcher->wakes() >= wakes && watcher->beats() >= beats;
      });
    });
  };
  world.RunTurn();
  EXPECT_TRUE(all_at_least(1, 0));
  world.clock().Advance(2 * kWatchBeat);
  EXPECT_TRUE(all_at_least(2, 1)) << "the beat goes on";
  world.RunTurn();
  EXPECT_TRUE(all_at_least(3, 1));
  watchers[1]->lag = absl::Seconds(3);
  watchers[2]->lag = absl::Seconds(7);
  EXPECT_EQ(hub.Lag(), absl::Seconds(7)) << "the longest";
  for (const auto& watcher : watchers) hub.Remove(world.key(), *watcher);
  const absl::MutexLock lock(&mutex);
  EXPECT_THAT(reported, ElementsAre(HasSubstr("thrown by a watcher"))) << "reported once";
}

}  // namespace
}  // namespace holdfast::test
