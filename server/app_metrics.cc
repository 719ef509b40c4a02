// The metrics of the server as a whole: which of its parts a scrape reads, and where it is served.
#include "platform/exceptions.h"
#include "platform/status_macros.h"
#include "server/app.h"
#include "server/telemetry/observed_store.h"
#include "session/limits.h"

#include "absl/time/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace holdfast {
namespace {

template <typename Count>
double AsDouble(Count count) {
  return static_cast<double>(count);
}

bool IsInsecure(const Config& config) {
  bool insecure = config.server.insecure;
  for (const StoreConfig& store : config.stores) {
    insecure = insecure || (store.enabled && store.insecure);
  }
  return insecure;
}

}  // namespace

StoreMaker App::ObservedMaker() {
  return [this](const StoreConfig& config, const Clock& clock,
                Random& random) -> absl::StatusOr<std::unique_ptr<SessionStore>> {
    ASSIGN_OR_RETURN(std::unique_ptr<SessionStore> store, parts_.make_store(config, clock, random));
    if (!config.active) return store;
    ObservedStoreOptions options;
    if (tracer_ != nullptr) options.spans.emplace(*tracer_, store->Describe().kind);
    return std::make_unique<ObservedStore>(std::move(store), clock, parts_.metrics,
                                           std::move(options));
  };
}

absl::Status App::ServeMetrics() {
  const std::string& address = parts_.config.telemetry.metrics_address;
  if (address.empty()) return absl::OkStatus();
  ReadLoad();
  ReadConnections();
  ReadFacts();
  if (tracer_ != nullptr) ReadTraces();
  const StoreConfig& store = parts_.config.ActiveStore();
  resource_metrics_ =
      std::make_unique<ResourceMetrics>(ResourceMetrics::Parts{.metrics = parts_.metrics,
                                                               .random = parts_.random,
                                                               .memory = memory_,
                                                               .root = store.root,
                                                               .more = [this] { MeasureStore(); }});
  ASSIGN_OR_RETURN(metrics_endpoint_, MetricsEndpoint::Start(address, parts_.metrics));
  return absl::OkStatus();
}

void App::CountSweep(SweepKind kind, const absl::StatusOr<size_t>& changed) {
  const Outcome outcome = changed.ok() ? Outcome::kOk : Outcome::kFailed;
  parts_.metrics.Add(
      parts_.metrics.CellOf(Metric::kSweeps, {LabelIndex(kind), LabelIndex(outcome)}));
  parts_.metrics.Add(parts_.metrics.CellOf(Metric::kSweptSessions, {LabelIndex(kind)}),
                     changed.value_or(0));
}

void App::MeasureStore() {
  if (parts_.store_metrics == nullptr) return;
  const auto what = CatchException([this] { parts_.store_metrics->Measure(); });
  if (what) NoteException("metrics", *what);
}

void App::ReadLoad() {
  const LimitsConfig& limits = parts_.config.limits;
  const auto read = [this](Metric metric, std::function<double()> value) {
    parts_.metrics.Read(metric, {}, std::move(value));
  };
  read(Metric::kQueuedCalls, [this] { return AsDouble(pool_->CurrentLoad().queued); });
  read(Metric::kQueuedCallsLimit, [&limits] { return AsDouble(limits.queued_calls); });
  read(Metric::kQueueOldestAge, [this] {
    const absl::Duration batched = batcher_ ? batcher_->OldestAge() : absl::ZeroDuration();
    return absl::ToDoubleSeconds(std::max(pool_->CurrentLoad().oldest, batched));
  });
  read(Metric::kWorkers, [this] { return AsDouble(pool_->workers()); });
  read(Metric::kWorkersBusy, [this] { return AsDouble(pool_->CurrentLoad().busy); });
  read(Metric::kWorkersOnCore, [this] { return AsDouble(pool_->CurrentLoad().on_core); });
  read(Metric::kExceptions, [this] { return AsDouble(pool_->Exceptions()); });
  read(Metric::kMemoryBudgetUsed, [this] { return AsDouble(admission_->HeldBytes()); });
  read(Metric::kMemoryBudgetLimit, [this] { return AsDouble(MemoryBudget()); });
  read(Metric::kStagedUsed, [this] { return AsDouble(staged_->Reserved()); });
  read(Metric::kStagedLimit, [&limits] { return AsDouble(limits.staged_bytes); });
  read(Metric::kStreams, [this] { return AsDouble(streams_->Count()); });
  read(Metric::kWatchers, [this] { return AsDouble(watches_->Count()); });
  read(Metric::kWatchLag, [this] { return absl::ToDoubleSeconds(watches_->Lag()); });
  read(Metric::kWatchersLimit, [&limits] { return AsDouble(limits.watchers); });
  read(Metric::kGuardedMemory, [this] { return AsDouble(memory_guard_->held()); });
  read(Metric::kGuardedMemoryLimit,
       [this] { return AsDouble(parts_.container.ProcessLimit(MemoryBudget())); });
}

void App::ReadConnections() {
  const auto read = [this](Metric metric, std::function<double()> value) {
    parts_.metrics.Read(metric, {}, std::move(value));
  };
  const auto refused = [this](ConnectionLimit limit, uint64_t AcceptCounts::*count) {
    parts_.metrics.Read(Metric::kConnectionsRefused, {LabelIndex(limit)},
                        [this, count] { return AsDouble(acceptor_->counts().*count); });
  };
  read(Metric::kConnections, [this] { return AsDouble(connections_->size()); });
  read(Metric::kConnectionsLimit, [this] { return AsDouble(parts_.config.server.connections); });
  read(Metric::kConnectionsAccepted, [this] { return AsDouble(acceptor_->counts().taken); });
  refused(ConnectionLimit::kRate, &AcceptCounts::too_fast);
  refused(ConnectionLimit::kPeer, &AcceptCounts::too_many_of_peer);
  refused(ConnectionLimit::kServer, &AcceptCounts::too_many);
  read(Metric::kAcceptPauses, [this] { return AsDouble(acceptor_->counts().pauses); });
  parts_.metrics.Read(Metric::kConnectionsClosed, {LabelIndex(ConnectionCause::kMemory)},
                      [this] { return AsDouble(memory_guard_->closed()); });
  parts_.metrics.Read(Metric::kConnectionsClosed, {LabelIndex(ConnectionCause::kResets)},
                      [this] { return AsDouble(closed_for_resets_.load()); });
}

void App::ReadTraces() {
  const auto spans = [this](SpanOutcome outcome, uint64_t SpanCounts::*count) {
    parts_.metrics.Read(Metric::kSpans, {LabelIndex(outcome)},
                        [this, count] { return AsDouble(tracer_->Counts().spans.*count); });
  };
  spans(SpanOutcome::kExported, &SpanCounts::exported);
  spans(SpanOutcome::kRejected, &SpanCounts::rejected);
  spans(SpanOutcome::kQueueFull, &SpanCounts::dropped_queue_full);
  spans(SpanOutcome::kRefused, &SpanCounts::dropped_refused);
  spans(SpanOutcome::kGivenUp, &SpanCounts::dropped_given_up);
  spans(SpanOutcome::kStopped, &SpanCounts::dropped_stopped);
  parts_.metrics.Read(Metric::kSpanExportsFailed, {},
                      [this] { return AsDouble(tracer_->Counts().spans.failed_exports); });
  parts_.metrics.Read(Metric::kUnsampledCalls, {},
                      [this] { return AsDouble(tracer_->Counts().unsampled_by_cap); });
}

void App::ReadFacts() {
  const auto read = [this](Metric metric, std::function<double()> value) {
    parts_.metrics.Read(metric, {}, std::move(value));
  };
  const auto fixed = [&read](Metric metric, double value) {
    read(metric, [value] { return value; });
  };
  parts_.metrics.Read(Metric::kLogLinesLeftOut, {LabelIndex(LogCause::kRate)},
                      [this] { return AsDouble(parts_.log.left_out()); });
  if (parts_.log_lines_dropped) {
    parts_.metrics.Read(Metric::kLogLinesLeftOut, {LabelIndex(LogCause::kQueue)},
                        [this] { return AsDouble(parts_.log_lines_dropped()); });
  }
  read(Metric::kServing, [this] { return serving_ ? 1 : 0; });
  read(Metric::kStoreHealthy, [this] { return store_healthy_ ? 1 : 0; });
  read(Metric::kStoreWarnings, [this] {
    return AsDouble(stores_->warnings().size() + stores_->active().Describe().warnings.size());
  });
  fixed(Metric::kInsecure, IsInsecure(parts_.config) ? 1 : 0);
  fixed(Metric::kBuildInfo, 1);
  fixed(Metric::kProcessStart, absl::ToDoubleSeconds(parts_.clock.Wall() - absl::UnixEpoch()));
}

}  // namespace holdfast
