#include "server/telemetry/otlp_receiver.h"

#include "holdfast/version.h"
#include "server/telemetry/otlp.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

using opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;
using opentelemetry::proto::collector::trace::v1::TraceService;

// A batch is sent again by the exporter's rules, and not by the library's.
std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto milliseconds = [](absl::Duration duration) {
    return static_cast<int>(absl::ToInt64Milliseconds(duration));
  };
  // A receiver that is back is found by the next try.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, milliseconds(kSpanRetryFirst / 2));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(kSpanRetryFirst));
  arguments.SetUserAgentPrefix(std::string("holdfast/") + kVersion);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::optional<absl::Duration> RetryAfter(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& detail : details.details()) {
    google::rpc::RetryInfo info;
    if (!detail.UnpackTo(&info)) continue;
    return absl::Seconds(info.retry_delay().seconds()) +
           absl::Nanoseconds(info.retry_delay().nanos());
  }
  return std::nullopt;
}

}  // namespace

OtlpReceiver::OtlpReceiver(const std::string& address, TraceResource resource, const Clock& clock)
    : resource_(std::move(resource)),
      clock_(clock),
      stub_(TraceService::NewStub(Connect(address))) {}

ExportAnswer OtlpReceiver::Export(const std::vector<Span>& spans, absl::Duration timeout) {
  const ExportTraceServiceRequest request = ToRequest(spans, resource_);
  ExportTraceServiceResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(clock_.Wall() + timeout));
  {
    const absl::MutexLock lock(&mutex_);
    if (cancelled_) return {.code = grpc::StatusCode::CANCELLED, .message = "the server stops"};
    under_way_ = &context;
  }
  const grpc::Status status = stub_->Export(&context, request, &response);
  {
    const absl::MutexLock lock(&mutex_);
    under_way_ = nullptr;
  }
  if (status.ok()) return {.rejected = response.partial_success().rejected_spans()};
  return {.code = status.error_code(),
          .message = status.error_message(),
          .retry_after = RetryAfter(status)};
}

void OtlpReceiver::Cancel() {
  const absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (under_way_ != nullptr) under_way_->TryCancel();
}

}  // namespace holdfast
