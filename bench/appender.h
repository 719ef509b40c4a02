// One journal entry after the other, each with a call of its own.
#ifndef HOLDFAST_BENCH_APPENDER_H_
#define HOLDFAST_BENCH_APPENDER_H_

#include "bench/agent.h"
#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/served.h"
#include "bench/unary_call.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

// Into the session of an agent that commits nothing meanwhile.
class Appender final : public Slot {
 public:
  // Both must outlive it.
  Appender(Served& served, const Agent& agent, size_t bytes)
      : served_(served), agent_(agent), bytes_(bytes) {}

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  absl::Status End() override;

  // FAILED_PRECONDITION unless the journal ends at what was acknowledged.
  absl::Status Count();

 private:
  Served& served_;
  const Agent& agent_;
  const size_t bytes_;
  FreshBytes fresh_;
  uint64_t entries_ = 0;  // acknowledged
  v1::AppendJournalRequest request_;
  UnaryCall<v1::AppendJournalResponse> call_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_APPENDER_H_
