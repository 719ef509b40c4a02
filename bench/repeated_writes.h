// A client that sends the same requests again and again, long after they were answered.
#ifndef HOLDFAST_BENCH_REPEATED_WRITES_H_
#define HOLDFAST_BENCH_REPEATED_WRITES_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/served.h"
#include "bench/unary_call.h"
#include "holdfast/v1/store_service.grpc.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

// Sessions with one stored write each. Each call repeats the write of the next session. Nothing in
// the request says that it is a repeat, so the server decides on it as on a new one.
class RepeatedWrites final : public Slot {
 public:
  // Creates `sessions` sessions whose ids begin with `prefix`, and writes in each. `served` must
  // outlive it.
  static absl::StatusOr<std::unique_ptr<RepeatedWrites>> Make(Served& served,
                                                              const std::string& prefix,
                                                              size_t sessions);
  // See Make.
  explicit RepeatedWrites(Served& served)
      : served_(served), store_(v1::StoreService::NewStub(served.NewConnection())) {}

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  // FAILED_PRECONDITION when the call was not answered as a repeat.
  absl::Status End() override;

 private:
  absl::Status Add(const std::string& id);

  Served& served_;
  std::unique_ptr<v1::StoreService::Stub> store_;  // over a connection of its own
  FreshBytes fresh_;
  std::vector<v1::WriteSnapshotRequest> requests_;
  size_t next_ = 0;
  UnaryCall<v1::WriteSnapshotResponse> call_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_REPEATED_WRITES_H_
