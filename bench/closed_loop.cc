#include "bench/closed_loop.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

class Loop {
 public:
  Loop(const std::vector<Slot*>& slots, uint64_t count)
      : slots_(slots), count_(count), started_(slots.size()), latencies_(slots.size()) {}

  absl::StatusOr<Round> Run() {
    running_ = slots_.size();
    left_ = count_;
    const auto begin = SteadyClock::now();
    for (size_t at = 0; at < slots_.size(); ++at) Next(at);
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](size_t* running) { return *running == 0; }, &running_));
    const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    if (!failure_.ok()) return failure_;
    std::vector<double> all;
    all.reserve(count_);
    for (const auto& of_slot : latencies_) all.insert(all.end(), of_slot.begin(), of_slot.end());
    return Summarise(count_, seconds, std::move(all));
  }

 private:
  void Next(size_t at) {
    {
      const absl::MutexLock lock(&mutex_);
      if (left_ == 0 || !failure_.ok()) {
        --running_;
        return;
      }
      --left_;
    }
    started_[at] = SteadyClock::now();
    slots_[at]->Start([this, at](const absl::Status& status) { Done(at, status); });
  }

  void Done(size_t at, const absl::Status& status) {
    latencies_[at].push_back(Milliseconds(SteadyClock::now() - started_[at]).count());
    if (!status.ok()) {
      const absl::MutexLock lock(&mutex_);
      failure_.Update(status);
    }
    Next(at);
  }

  const std::vector<Slot*>& slots_;
  const uint64_t count_;
  // Of each slot; touched by whoever holds the slot's call.
  std::vector<SteadyClock::time_point> started_;
  std::vector<std::vector<double>> latencies_;
  absl::Mutex mutex_;
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t left_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<Round> Drive(const std::vector<Slot*>& slots, uint64_t count) {
  return Loop(slots, count).Run();
}

Round Summarise(uint64_t count, double seconds, std::vector<double> latencies) {
  std::ranges::sort(latencies);
  const auto at = [&](size_t percent) {
    return latencies.empty() ? 0 : latencies[(latencies.size() - 1) * percent / 100];
  };
  return {.count = count, .seconds = seconds, .p50_ms = at(50), .p99_ms = at(99)};
}

}  // namespace holdfast::bench
