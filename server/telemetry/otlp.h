// Spans as messages of the OpenTelemetry protocol.
#ifndef HOLDFAST_SERVER_TELEMETRY_OTLP_H_
#define HOLDFAST_SERVER_TELEMETRY_OTLP_H_

#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"
#include "server/telemetry/span.h"

#include <vector>

namespace holdfast {

// One request with all `spans`, which come from `resource`.
opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest ToRequest(
    const std::vector<Span>& spans, const TraceResource& resource);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_OTLP_H_
