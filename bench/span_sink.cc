#include "bench/span_sink.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/support/byte_buffer.h>

#include <utility>

namespace holdfast::bench {
namespace {

// One export: the request, and a reply without a field, which says that all spans were taken.
class Export final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Export(std::atomic<uint64_t>& bytes) : bytes_(bytes) {}

  // Lives from here until the transport is done with it.
  static Export* Begin(std::atomic<uint64_t>& bytes) {
    auto begun = std::make_unique<Export>(bytes);
    Export* const self = begun.get();
    self->self_ = std::move(begun);
    self->StartRead(&self->request_);
    return self;
  }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no request"));
    bytes_ += request_.Length();
    StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
  }
  void OnDone() override { const std::unique_ptr<Export> last = std::move(self_); }

 private:
  std::unique_ptr<Export> self_;
  std::atomic<uint64_t>& bytes_;
  grpc::ByteBuffer request_;
  grpc::Slice nothing_;
  grpc::ByteBuffer reply_{&nothing_, 1};
};

}  // namespace

absl::StatusOr<std::unique_ptr<SpanSink>> SpanSink::Start() {
  auto sink = std::make_unique<SpanSink>();
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
  server_->Shutdown();
  server_->Wait();
}

grpc::ServerGenericBidiReactor* SpanSink::CreateReactor(
    grpc::GenericCallbackServerContext* /*context*/) {
  return Export::Begin(bytes_);
}

}  // namespace holdfast::bench
