#include "bench/span_sink.h"

#include <grpc/support/time.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <utility>

namespace holdfast::bench {
namespace {

constexpr int64_t kRetrySeconds = 1;

// An overloaded receiver's answer: without RetryInfo the spans would be dropped, and not kept.
grpc::Status Refusal() {
  google::rpc::RetryInfo later;
  later.mutable_retry_delay()->set_seconds(kRetrySeconds);
  google::rpc::Status details;
  details.set_code(grpc::StatusCode::RESOURCE_EXHAUSTED);
  details.add_details()->PackFrom(later);
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, "overloaded", details.SerializeAsString()};
}

// One export. An empty reply says that all spans were taken.
class Export final : public grpc::ServerGenericBidiReactor {
 public:
  Export(SpanReply answer, std::atomic<uint64_t>& bytes) : answer_(answer), bytes_(bytes) {}

  // Lives from here until the transport is done with it.
  static Export* Begin(SpanReply answer, std::atomic<uint64_t>& bytes) {
    auto begun = std::make_unique<Export>(answer, bytes);
    Export* const self = begun.get();
    self->self_ = std::move(begun);
    self->StartRead(&self->request_);
    return self;
  }
  void OnReadDone(bool ok) override {
    if (!ok) return FinishOnce(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no request"));
    bytes_ += request_.Length();
    if (answer_ == SpanReply::kRefuse) return FinishOnce(Refusal());
    if (answer_ == SpanReply::kTake && !finished_.exchange(true)) {
      StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
    }
  }
  // What hangs ends here, when the sender gives up or the receiver shuts down.
  void OnCancel() override { FinishOnce(grpc::Status::CANCELLED); }
  void OnDone() override { const std::unique_ptr<Export> last = std::move(self_); }

 private:
  // The read and the cancellation may end on two threads at once.
  void FinishOnce(const grpc::Status& status) {
    if (!finished_.exchange(true)) Finish(status);
  }

  std::unique_ptr<Export> self_;
  const SpanReply answer_;
  std::atomic<uint64_t>& bytes_;
  std::atomic<bool> finished_ = false;
  grpc::ByteBuffer request_;
  grpc::Slice nothing_;
  grpc::ByteBuffer reply_{&nothing_, 1};
};

}  // namespace

absl::StatusOr<std::unique_ptr<SpanSink>> SpanSink::Start(SpanReply reply) {
  auto sink = std::make_unique<SpanSink>(reply);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(sink.get());
  sink->server_ = builder.BuildAndStart();
  if (sink->server_ == nullptr) return absl::UnavailableError("no port for a receiver of spans");
  sink->address_ = "127.0.0.1:" + std::to_string(port);
  return sink;
}

SpanSink::~SpanSink() {
  if (server_ == nullptr) return;
  server_->Shutdown(gpr_time_0(GPR_CLOCK_MONOTONIC));
  server_->Wait();
}

grpc::ServerGenericBidiReactor* SpanSink::CreateReactor(
    grpc::GenericCallbackServerContext* /*context*/) {
  return Export::Begin(reply_, bytes_);
}

}  // namespace holdfast::bench
