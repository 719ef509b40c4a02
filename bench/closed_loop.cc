#include "bench/closed_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

class Loop {
 public:
  Loop(const std::vector<Slot*>& slots, uint64_t count) : count_(count), left_(count) {
    for (Slot* const slot : slots) places_.push_back({.slot = slot, .started = {}});
    latencies_.reserve(count);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    queue_.Shutdown();
    Await();
  }

  absl::StatusOr<Round> Run() {
    const auto begin = SteadyClock::now();
    for (Place& place : places_) Next(place);
    while (running_ > 0) End(*Await());
    if (!failure_.ok()) return failure_;
    const double seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    return Summarise(count_, seconds, std::move(latencies_));
  }

 private:
  struct Place {
    Slot* slot;
    SteadyClock::time_point started;
  };

  // The next place whose call has ended; null when nothing more comes.
  Place* Await() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) ? static_cast<Place*>(tag) : nullptr;
  }

  void Next(Place& place) {
    if (left_ == 0 || !failure_.ok()) return;
    --left_;
    ++running_;
    place.started = SteadyClock::now();
    place.slot->Start(queue_, &place);
  }

  void End(Place& place) {
    latencies_.push_back(Milliseconds(SteadyClock::now() - place.started).count());
    --running_;
    failure_.Update(place.slot->End());
    Next(place);
  }

  grpc::CompletionQueue queue_;
  const uint64_t count_;
  uint64_t left_;
  size_t running_ = 0;
  std::vector<Place> places_;
  std::vector<double> latencies_;
  absl::Status failure_;
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
