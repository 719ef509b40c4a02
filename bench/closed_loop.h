// A closed loop: so many calls in flight, each followed by the next one, until a count is reached.
// One thread sends them all and takes their answers, as pgbench's does: to hand each answer to
// another thread would cost the cores that are measured more than the call.
#ifndef HOLDFAST_BENCH_CLOSED_LOOP_H_
#define HOLDFAST_BENCH_CLOSED_LOOP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <grpcpp/completion_queue.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::bench {

// One place for a call in flight.
class Slot {
 public:
  Slot() = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  virtual ~Slot() = default;

  // Starts the slot's next call. `tag` comes by `queue` once, when it has ended.
  virtual void Start(grpc::CompletionQueue& queue, void* tag) = 0;
  // How it has ended.
  virtual absl::Status End() = 0;
};

// The slots of contenders that other code owns.
template <typename T>
std::vector<Slot*> SlotsOf(const std::vector<std::unique_ptr<T>>& owned) {
  std::vector<Slot*> slots;
  for (const auto& one : owned) slots.push_back(one.get());
  return slots;
}

// What a round took. Absolute times are printed and have no goal.
struct Round {
  uint64_t count = 0;
  double seconds = 0;
  double p50_ms = 0;
  double p99_ms = 0;

  [[nodiscard]] double Rate() const { return static_cast<double>(count) / seconds; }
};

// Makes `count` calls, one per slot in flight, and waits for all of them. The first call that fails
// ends the round with its status.
absl::StatusOr<Round> Drive(const std::vector<Slot*>& slots, uint64_t count);

// The round of `count` calls that took `seconds`, each of them one of `latencies` (in ms).
Round Summarise(uint64_t count, double seconds, std::vector<double> latencies);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_CLOSED_LOOP_H_
