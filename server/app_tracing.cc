// What App does for traces.
#include "server/app.h"
#include "server/telemetry/otlp_receiver.h"
#include "server/telemetry/trace_resource.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast {

void App::OpenTracer() {
  const TelemetryConfig& telemetry = parts_.config.telemetry;
  if (!telemetry.Traces()) return;
  auto receiver = std::make_unique<OtlpReceiver>(
      telemetry.OtlpAddress(), ResourceOf(telemetry, parts_.random), parts_.clock);
  tracer_ = std::make_unique<Tracer>(
      SamplingOptions{.ratio = telemetry.sampling_ratio,
                      .parent_based = telemetry.parent_based,
                      .roots_per_second = telemetry.sampled_roots_per_second},
      SpanExporter::Parts{.receiver = std::move(receiver),
                          .clock = parts_.clock,
                          .random = parts_.random,
                          .log = parts_.log});
  if (parts_.store_metrics != nullptr) parts_.store_metrics->Trace(*tracer_);
}

void App::StopTracer(absl::Duration at_most) {
  if (tracer_ == nullptr) return;
  tracer_->Stop(at_most);
  const TraceCounts counts = tracer_->Counts();
  const auto number = [](uint64_t count) { return static_cast<int64_t>(count); };
  parts_.log.Info("spans", {{"exported", number(counts.spans.exported)},
                            {"rejected", number(counts.spans.rejected)},
                            {"dropped_queue_full", number(counts.spans.dropped_queue_full)},
                            {"dropped_refused", number(counts.spans.dropped_refused)},
                            {"dropped_given_up", number(counts.spans.dropped_given_up)},
                            {"dropped_stopped", number(counts.spans.dropped_stopped)},
                            {"failed_exports", number(counts.spans.failed_exports)},
                            {"unsampled_by_cap", number(counts.unsampled_by_cap)}});
}

TraceCounts App::Traces() const { return tracer_ == nullptr ? TraceCounts() : tracer_->Counts(); }

}  // namespace holdfast
