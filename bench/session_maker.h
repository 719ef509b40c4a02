// Many sessions, made through the API.
#ifndef HOLDFAST_BENCH_SESSION_MAKER_H_
#define HOLDFAST_BENCH_SESSION_MAKER_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/served.h"
#include "bench/unary_call.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

// One creation after the other, each of the session `s-<next>`.
class MakerSlot final : public Slot {
 public:
  // Both must outlive this; `next` may serve many.
  MakerSlot(Served& served, uint64_t& next);

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  absl::Status End() override;

 private:
  Served& served_;
  uint64_t& next_;
  FreshBytes fresh_;
  v1::CreateSessionRequest request_;
  UnaryCall<v1::CreateSessionResponse> call_;
};

// Creates up to `count` sessions, many at a time, and answers how many there are when that is done
// or `patience` is over.
absl::StatusOr<uint64_t> MakeSessions(Served& served, uint64_t count,
                                      std::chrono::seconds patience);

// How many sessions the server lists, once its listing is complete. UNAVAILABLE when that takes too
// long.
absl::StatusOr<uint64_t> CountSessions(Served& served);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_SESSION_MAKER_H_
