// A receiver of the OpenTelemetry protocol over gRPC, for example a collector.
#ifndef HOLDFAST_SERVER_TELEMETRY_OTLP_RECEIVER_H_
#define HOLDFAST_SERVER_TELEMETRY_OTLP_RECEIVER_H_

#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"
#include "server/telemetry/span_exporter.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/client_context.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast {

class OtlpReceiver final : public SpanReceiver {
 public:
  // `address` is HOST:PORT. It connects with the first export, without TLS. `clock` must outlive
  // this.
  OtlpReceiver(const std::string& address, TraceResource resource, const Clock& clock);

  ExportAnswer Export(const std::vector<Span>& spans, absl::Duration timeout) override;
  void Cancel() override;

 private:
  const TraceResource resource_;
  const Clock& clock_;
  const std::unique_ptr<opentelemetry::proto::collector::trace::v1::TraceService::Stub> stub_;
  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* under_way_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_OTLP_RECEIVER_H_
