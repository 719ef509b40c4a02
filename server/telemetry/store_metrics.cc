#include "server/telemetry/store_metrics.h"

#include "server/telemetry/active_span.h"
#include "server/telemetry/statement_span.h"

#include <cstddef>
#include <utility>

namespace holdfast {

void StoreMetrics::GroupWritten(const WrittenGroup& group) {
  metrics_.Observe(metrics_.CellOf(Metric::kStoreGroupChanges), uint64_t{group.changes});
  metrics_.Observe(metrics_.CellOf(Metric::kStoreGroupBytes), group.bytes);
}

void StoreMetrics::TailCut() { metrics_.Add(metrics_.CellOf(Metric::kStoreTailsCut)); }

void StoreMetrics::FileWorkDone(FileWork work) {
  metrics_.Add(metrics_.CellOf(Metric::kFileWorkDone, {LabelIndex(work)}));
}

void StoreMetrics::OnConnections(const std::function<ConnectionUse()>& read) {
  const auto show = [&](Metric metric, double (*value)(const ConnectionUse&)) {
    metrics_.Read(metric, {}, [read, value] { return value(read()); });
  };
  const auto count = [&](PoolState state, double (*value)(const ConnectionUse&)) {
    metrics_.Read(Metric::kPoolConnections, {LabelIndex(state)},
                  [read, value] { return value(read()); });
  };
  using Use = const ConnectionUse&;
  count(PoolState::kIdle, [](Use use) { return static_cast<double>(use.idle); });
  count(PoolState::kInUse, [](Use use) { return static_cast<double>(use.open - use.idle); });
  show(Metric::kPoolConnectionsLimit, [](Use use) { return static_cast<double>(use.most); });
  show(Metric::kPoolOpened, [](Use use) { return static_cast<double>(use.opened); });
  show(Metric::kPoolWaits, [](Use use) { return static_cast<double>(use.waits); });
  show(Metric::kPoolWaitTime, [](Use use) { return absl::ToDoubleSeconds(use.waited); });
  show(Metric::kPoolGivenUp, [](Use use) { return static_cast<double>(use.given_up); });
  show(Metric::kDatabaseTimeline,
       [](Use use) { return use.timeline == 0 ? kUnknown : static_cast<double>(use.timeline); });
}

void StoreMetrics::OnDatabase(const std::function<absl::StatusOr<DatabaseUse>()>& measure) {
  measure_ = measure;
  metrics_.Read(Metric::kDatabaseSize, {}, [this] { return bytes_.load(); });
  metrics_.Read(Metric::kDatabaseServers, {}, [this] { return servers_.load(); });
  metrics_.Read(Metric::kSchemaStep, {}, [this] { return schema_step_.load(); });
  metrics_.Read(Metric::kSchemaStepKnown, {}, [this] { return schema_step_known_.load(); });
  metrics_.Read(Metric::kSessions, {LabelIndex(Lifecycle::kActive)},
                [this] { return active_.load(); });
}

void StoreMetrics::OnSessions(const std::function<SessionCounts()>& count) {
  for (size_t lifecycle = 0; lifecycle < kLifecycles; ++lifecycle) {
    metrics_.Read(Metric::kSessions, {lifecycle},
                  [count, lifecycle] { return static_cast<double>(count().at(lifecycle)); });
  }
}

std::optional<RecordedSpan> StoreMetrics::CurrentSpan() const {
  const Span* const span = tracer_ == nullptr ? nullptr : ActiveSpan::OfThisThread();
  if (span == nullptr) return std::nullopt;
  return RecordOf(*span);
}

void StoreMetrics::StatementEnded(const StatementRun& run, const std::vector<RecordedSpan>& spans) {
  Span span = StatementSpan(run, spans);
  span.span_id = tracer_->NewSpanId();
  span.end = tracer_->clock().Wall();
  span.start = span.end - run.took;
  tracer_->Add(std::move(span));
}

void StoreMetrics::Measure() {
  const absl::Duration now = clock_.SinceBoot();
  if (!measure_ || now - measured_ < kMeasureInterval) return;
  measured_ = now;
  const absl::StatusOr<DatabaseUse> use = measure_();
  const std::optional<DatabaseContents> contents = use.ok() ? use->contents : std::nullopt;
  schema_step_ = use.ok() ? use->schema_step : kUnknown;
  schema_step_known_ = use.ok() ? use->schema_step_known : kUnknown;
  bytes_ = contents ? static_cast<double>(contents->bytes) : kUnknown;
  servers_ = contents ? static_cast<double>(contents->servers) : kUnknown;
  active_ = contents ? static_cast<double>(contents->active) : kUnknown;
}

}  // namespace holdfast
