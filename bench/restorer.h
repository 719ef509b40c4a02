// A client that takes messages back from the end of a history, and puts others in their place.
#ifndef HOLDFAST_BENCH_RESTORER_H_
#define HOLDFAST_BENCH_RESTORER_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/served.h"
#include "bench/unary_call.h"
#include "holdfast/v1/store_service.grpc.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

// One open session. Each call replaces its last message by one of kPayload fresh bytes.
class Restorer final : public Slot {
 public:
  // Creates the session `id` with `messages` messages of 1 KB. `served` must outlive it.
  static absl::StatusOr<std::unique_ptr<Restorer>> Make(Served& served, const std::string& id,
                                                        uint64_t messages);
  // See Make.
  Restorer(Served& served, std::string id);

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  absl::Status End() override;

  // One call that replaces the last message by one of 1 KB.
  absl::Status Replace();
  // Two calls: one takes the last message, which must be returned, and one adds another.
  absl::Status TakeAndAdd();
  // FAILED_PRECONDITION unless the session has as many messages as were acknowledged.
  absl::Status Count();

 private:
  // Adds `count` messages of 1 KB at the end of the history.
  absl::Status Append(uint64_t count);
  // A request that takes the last message.
  void TakeLast(v1::RestoreSessionRequest& request);

  Served& served_;
  const std::string id_;
  std::unique_ptr<v1::StoreService::Stub> store_;  // over a connection of its own
  FreshBytes fresh_;
  int64_t revision_ = 0;
  uint64_t messages_ = 0;
  v1::RestoreSessionRequest request_;
  UnaryCall<v1::RestoreSessionResponse> call_;
};

// `count` of them with the ids `<prefix>-1` and so on, and ten messages each.
absl::StatusOr<std::vector<std::unique_ptr<Restorer>>> MakeRestorers(Served& served,
                                                                     const std::string& prefix,
                                                                     size_t count);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_RESTORER_H_
