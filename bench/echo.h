// Echo: the RPC that a commit is measured against, and a server that has nothing else.
#ifndef HOLDFAST_BENCH_ECHO_H_
#define HOLDFAST_BENCH_ECHO_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/unary_call.h"
#include "holdfast/v1/admin_service.grpc.pb.h"

#include "absl/status/status.h"

#include <cstddef>

namespace holdfast::bench {

// Sends fresh bytes to a server's Echo and takes them back.
class EchoSlot final : public Slot {
 public:
  // `stub` must outlive it.
  explicit EchoSlot(v1::AdminService::Stub& stub, size_t bytes = kPayload)
      : stub_(stub), bytes_(bytes) {}

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  absl::Status End() override;

 private:
  v1::AdminService::Stub& stub_;
  const size_t bytes_;
  FreshBytes fresh_;
  v1::EchoRequest request_;
  UnaryCall<v1::EchoResponse> call_;
};

// Serves a bare callback Echo, without funnel, pool or log, until it is killed; prints
// `ready: address=HOST:PORT`. Answers an exit code when it cannot.
int ServeBareEcho();

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_ECHO_H_
