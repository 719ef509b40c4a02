// What a server needs to trace: it decides which calls are recorded, and exports what they become.
// A server without an endpoint has none.
#ifndef HOLDFAST_SERVER_TELEMETRY_TRACER_H_
#define HOLDFAST_SERVER_TELEMETRY_TRACER_H_

#include "platform/clock.h"
#include "server/telemetry/span.h"
#include "server/telemetry/span_exporter.h"
#include "server/telemetry/trace_sampler.h"

#include "absl/time/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// Where a server is reached.
struct ServedAt {
  std::string address;           // a host, or the path of a socket file
  std::optional<uint16_t> port;  // none of a socket file
};

// What became of the calls that were to be recorded.
struct TraceCounts {
  SpanCounts spans;
  uint64_t unsampled_by_cap = 0;  // calls that the number per second kept out
  bool operator==(const TraceCounts&) const = default;
};

// Any thread may call.
class Tracer final {
 public:
  // What SpanExporter::Parts names must outlive this.
  Tracer(SamplingOptions sampling, SpanExporter::Parts parts, ExportLimits limits = {})
      : clock_(parts.clock),
        random_(parts.random),
        sampler_(sampling, parts.clock),
        exporter_(std::move(parts), limits) {}

  // As TraceSampler::Sample.
  bool Sample(std::string_view trace_id, std::optional<uint8_t> parent) {
    return sampler_.Sample(trace_id, parent);
  }
  // Ids for a new trace and a new span: 32 and 16 hexadecimal digits.
  std::string NewTraceId();
  std::string NewSpanId();
  // Hands a finished span over. Never waits for the receiver.
  void Add(Span span) { exporter_.Add(std::move(span)); }
  // As SpanExporter::Stop.
  void Stop(absl::Duration at_most) { exporter_.Stop(at_most); }

  // Set before the first call is served.
  void set_served_at(ServedAt served_at) { served_at_ = std::move(served_at); }
  [[nodiscard]] const ServedAt& served_at() const { return served_at_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] TraceCounts Counts() const {
    return {.spans = exporter_.Counts(), .unsampled_by_cap = sampler_.beyond_cap()};
  }

 private:
  const Clock& clock_;
  Random& random_;
  ServedAt served_at_;
  TraceSampler sampler_;
  SpanExporter exporter_;
};

// The host and port of HOST:PORT, or the path of unix:PATH.
ServedAt ToServedAt(std::string_view address);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_TRACER_H_
