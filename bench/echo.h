// Echo: the RPC that a commit is measured against, and a server that has nothing else.
#ifndef HOLDFAST_BENCH_ECHO_H_
#define HOLDFAST_BENCH_ECHO_H_

#include "bench/closed_loop.h"
#include "bench/fresh_bytes.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "bench/unary_call.h"
#include "holdfast/v1/admin_service.grpc.pb.h"

#include "absl/status/status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

// What Echo answers. A commit sends its bytes and gets none back, so it is compared with an Echo
// that answers nothing.
enum class EchoReply : uint8_t { kNothing, kBytes };

// Sends fresh bytes to a server's Echo. For kNothing they are a field that the server does not
// know: it takes, counts and parses the request as any other and finds no payload to send back.
class EchoSlot final : public Slot {
 public:
  // `stub` must outlive it.
  EchoSlot(v1::AdminService::Stub& stub, EchoReply reply, size_t bytes = kPayload)
      : stub_(stub), reply_(reply), bytes_(bytes) {}

  void Start(grpc::CompletionQueue& queue, void* tag) override;
  absl::Status End() override;

 private:
  v1::AdminService::Stub& stub_;
  const EchoReply reply_;
  const size_t bytes_;
  FreshBytes fresh_;
  v1::EchoRequest request_;
  UnaryCall<v1::EchoResponse> call_;
};

// So many slots.
std::vector<std::unique_ptr<EchoSlot>> MakeEchoes(v1::AdminService::Stub& stub, size_t count,
                                                  EchoReply reply = EchoReply::kNothing,
                                                  size_t bytes = kPayload);

// A contender that sends `bytes` to the Echo of `served` and takes nothing back, so many calls at a
// time. `served` must outlive it and not be started again.
Contender EmptyEcho(std::string name, Served& served, size_t in_flight, size_t bytes = kPayload);

// Serves a bare callback Echo, without funnel, pool or log, until it is killed; prints
// `ready: address=HOST:PORT`. Answers an exit code when it cannot.
int ServeBareEcho();

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_ECHO_H_
