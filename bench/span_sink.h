// A receiver of spans that looks at none: what a sender costs is measured, and not what a receiver
// does. It takes every export, refuses every one, or answers none.
#ifndef HOLDFAST_BENCH_SPAN_SINK_H_
#define HOLDFAST_BENCH_SPAN_SINK_H_

#include "absl/status/statusor.h"
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

// How a receiver answers an export.
enum class SpanReply {
  kTake,    // OK
  kRefuse,  // RESOURCE_EXHAUSTED with RetryInfo, which asks for the same spans again
  kHang     // nothing, until the sender gives the call up
};

// Serves from its making to its end. Any thread may ask for the count.
class SpanSink final : public grpc::CallbackGenericService {
 public:
  // On a free port of this machine.
  static absl::StatusOr<std::unique_ptr<SpanSink>> Start(SpanReply reply = SpanReply::kTake);
  explicit SpanSink(SpanReply reply) : reply_(reply) {}
  SpanSink(const SpanSink&) = delete;
  SpanSink& operator=(const SpanSink&) = delete;
  // Calls that were not answered are cancelled.
  ~SpanSink() override;

  // HOST:PORT.
  [[nodiscard]] const std::string& address() const { return address_; }
  // Bytes of the exports that arrived, whatever they were answered.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

  const SpanReply reply_;
  std::atomic<uint64_t> bytes_ = 0;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_SPAN_SINK_H_
