// The rows of the table (metric_table.h).
#include "server/telemetry/metric_table.h"

namespace holdfast {
namespace {

using RowLabels = std::array<Label, kMetricLabelsMost>;

// A name ends with its unit, a counter's before `_total`.
constexpr std::string_view UnitIn(std::string_view name) {
  constexpr std::string_view kTotal = "_total";
  if (name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
  if (name.ends_with("_seconds")) return "seconds";
  return name.ends_with("_bytes") ? "bytes" : "";
}

constexpr MetricRow Plain(Metric metric, std::string_view name, RowLabels labels,
                          std::string_view help) {
  return {.metric = metric,
          .name = name,
          .type = MetricType::kGauge,
          .unit = UnitIn(name),
          .labels = labels,
          .help = help};
}

constexpr MetricRow Read(MetricRow row) {
  row.source = Source::kRead;
  return row;
}

constexpr MetricRow Gauge(Metric metric, std::string_view name, RowLabels labels,
                          std::string_view help) {
  return Read(Plain(metric, name, labels, help));
}

constexpr MetricRow Counter(Metric metric, std::string_view name, RowLabels labels,
                            std::string_view help) {
  MetricRow row = Plain(metric, name, labels, help);
  row.type = MetricType::kCounter;
  return row;
}

constexpr MetricRow Histogram(Metric metric, std::string_view name, RowLabels labels,
                              Buckets buckets, std::string_view help) {
  MetricRow row = Plain(metric, name, labels, help);
  row.type = MetricType::kHistogram;
  row.buckets = buckets;
  return row;
}

// Most of its series never move in one server.
constexpr MetricRow Sparse(MetricRow row) {
  row.zeros = Zeros::kHidden;
  return row;
}

}  // namespace

const std::array<MetricRow, kMetrics> kMetricRows = {{
    Sparse(Counter(Metric::kRpcStarted, "holdfast_rpc_started_total", {Label::kMethod},
                   "Calls that entered the funnel.")),
    Sparse(Counter(Metric::kRpcHandled, "holdfast_rpc_handled_total",
                   {Label::kMethod, Label::kCode},
                   "Calls that were answered, by the code of the gRPC status.")),
    Sparse(Histogram(Metric::kRpcDuration, "holdfast_rpc_duration_seconds",
                     {Label::kMethod, Label::kOutcome}, Buckets::kSeconds,
                     "Time from a call's entry to its answer; of a stream, how long it lasted. A "
                     "call that is refused fails.")),
    Plain(Metric::kRpcInFlight, "holdfast_rpc_in_flight", {Label::kMethod},
          "Calls that wait, run, or whose answer is still being sent."),
    Counter(Metric::kRpcRefused, "holdfast_rpc_refused_total", {Label::kReason},
            "Calls that were refused or failed, by reason (docs/api-reference.md)."),
    Counter(Metric::kRpcReceivedBytes, "holdfast_rpc_received_bytes_total", {},
            "Bytes of request messages that arrived whole, of all methods."),
    Counter(Metric::kRpcReplyBytes, "holdfast_rpc_unary_reply_bytes_total", {},
            "Bytes of the replies of unary calls."),
    Gauge(Metric::kQueuedCalls, "holdfast_queued_calls", {}, "Tasks that wait for a worker."),
    Gauge(Metric::kQueuedCallsLimit, "holdfast_queued_calls_limit", {},
          "The configured limits.queued_calls."),
    Gauge(Metric::kQueueOldestAge, "holdfast_queue_oldest_age_seconds", {},
          "How long the oldest waiting task has waited; 0 when none waits."),
    Gauge(Metric::kWorkers, "holdfast_workers", {}, "The configured server.workers."),
    Gauge(Metric::kWorkersBusy, "holdfast_workers_busy", {}, "Workers that run a task."),
    Gauge(Metric::kWorkersOnCore, "holdfast_workers_on_core", {},
          "Workers that run a task and are not blocked in a disk, a database or a wait."),
    Read(Counter(Metric::kExceptions, "holdfast_exceptions_total", {},
                 "Exceptions that ended a call's work or a task; each is a defect.")),
    Gauge(Metric::kMemoryBudgetUsed, "holdfast_memory_budget_used_bytes", {},
          "What calls hold of limits.memory_budget."),
    Gauge(Metric::kMemoryBudgetLimit, "holdfast_memory_budget_limit_bytes", {},
          "The configured limits.memory_budget."),
    Gauge(Metric::kStagedUsed, "holdfast_staged_used_bytes", {},
          "What unfinished uploads have reserved of limits.staged_bytes."),
    Gauge(Metric::kStagedLimit, "holdfast_staged_limit_bytes", {},
          "The configured limits.staged_bytes."),
    Gauge(Metric::kStreams, "holdfast_streams", {},
          "Open streams of journals, uploads, reads and reflection."),
    Gauge(Metric::kWatchers, "holdfast_watchers", {}, "Open WatchSession streams."),
    Gauge(Metric::kWatchersLimit, "holdfast_watchers_limit", {}, "The configured limits.watchers."),
    Gauge(
        Metric::kWatchLag, "holdfast_watch_lag_seconds", {},
        "Age of the oldest event that a watcher of this server has not been sent; 0 when all have "
        "come to the end. A watcher counts from when it first has."),
    Gauge(Metric::kConnections, "holdfast_connections", {},
          "Open connections of clients, as of a look at most one second old."),
    Gauge(Metric::kConnectionsLimit, "holdfast_connections_limit", {},
          "The configured server.connections."),
    Read(Counter(Metric::kConnectionsAccepted, "holdfast_connections_accepted_total", {},
                 "Connections that were accepted and kept.")),
    Read(Counter(
        Metric::kConnectionsRefused, "holdfast_connections_refused_total",
        {Label::kConnectionLimit},
        "Connections that were closed at once for a limit: of a peer's rate, of a peer, of the "
        "server.")),
    Read(Counter(
        Metric::kAcceptPauses, "holdfast_accept_pauses_total", {},
        "Pauses of the acceptor because the process or the system had no descriptor or memory "
        "left.")),
    Read(Counter(Metric::kConnectionsClosed, "holdfast_connections_closed_total",
                 {Label::kConnectionCause},
                 "Connections that the server closed to protect itself: of a peer that resets its "
                 "calls, or for the memory of the process.")),
    Gauge(Metric::kGuardedMemory, "holdfast_process_guarded_bytes", {},
          "Memory of the process that no file backs, which the memory guard compares with its "
          "limit; as of the last look."),
    Gauge(Metric::kGuardedMemoryLimit, "holdfast_process_guarded_limit_bytes", {},
          "At more than this the memory guard closes connections."),
    Read(Counter(
        Metric::kLogLinesLeftOut, "holdfast_log_lines_left_out_total", {Label::kLogCause},
        "Log lines that were not written: more of one kind than are written in a second, or a "
        "full queue.")),
    Sparse(Counter(Metric::kTransitions, "holdfast_session_transitions_total",
                   {Label::kFrom, Label::kTo, Label::kTrigger},
                   "Applied changes that set the lifecycle of a session, by the state before and "
                   "after and by the trigger.")),
    Counter(Metric::kLeaseGrants, "holdfast_lease_grants_total", {Label::kGrant},
            "Leases that were granted, by the previous holder: none, the same one, or another."),
    Sparse(Histogram(Metric::kStoreCallDuration, "holdfast_store_call_duration_seconds",
                     {Label::kCall}, Buckets::kSeconds, "Time in a call of the active store.")),
    Sparse(Counter(Metric::kStoreErrors, "holdfast_store_errors_total",
                   {Label::kCall, Label::kReason},
                   "Calls of the active store that answered an error, by reason. An unknown "
                   "session is one too.")),
    Counter(Metric::kStoreCommits, "holdfast_store_commits_total", {Label::kResult},
            "Changes that the active store answered: applied, repeated (an earlier reply), moved "
            "(decided again), refused."),
    Histogram(Metric::kStoreGroupChanges, "holdfast_store_group_changes", {}, Buckets::kChanges,
              "Changes that one sync or one statement carried."),
    Histogram(Metric::kStoreGroupBytes, "holdfast_store_group_bytes", {}, Buckets::kBytes,
              "Bytes of these changes."),
    Counter(Metric::kStoreTailsCut, "holdfast_store_tails_cut_total", {},
            "Unfinished writes that a store of files has cut off the end of a file; nothing of "
            "them was acknowledged."),
    Counter(Metric::kFileWorkDone, "holdfast_files_maintenance_total", {Label::kFileWork},
            "Work of a store of files beside writing changes: continuing in the other file of the "
            "write-ahead log, sealing the journal of a session, writing sealed ones anew."),
    Gauge(Metric::kStoreWarnings, "holdfast_store_warnings", {},
          "Warnings about the stores, as AdminService.Status lists them."),
    Gauge(Metric::kStoreHealthy, "holdfast_store_healthy", {},
          "1 if the last health check of the active store succeeded, else 0. It runs about once a "
          "second."),
    Gauge(Metric::kSessions, "holdfast_sessions", {Label::kLifecycle},
          "Sessions of the active store by lifecycle; at most a minute old. Over PostgreSQL only "
          "ACTIVE: to count the others would read every session."),
    Read(Counter(Metric::kSpans, "holdfast_spans_total", {Label::kSpanOutcome},
                 "Spans by what became of them: exported, rejected by a collector that took the "
                 "rest of a batch, or dropped, by the cause. Absent where nothing is traced.")),
    Read(Counter(Metric::kSpanExportsFailed, "holdfast_span_exports_failed_total", {},
                 "Exports of spans that the collector did not answer with OK.")),
    Read(Counter(Metric::kUnsampledCalls, "holdfast_unsampled_calls_total", {},
                 "Calls that telemetry.sampled_roots_per_second kept from being recorded.")),
    Counter(Metric::kSweeps, "holdfast_sweeps_total", {Label::kSweep, Label::kOutcome},
            "Sweeps that looked for abandoned or for cancelled sessions."),
    Counter(Metric::kSweptSessions, "holdfast_swept_sessions_total", {Label::kSweep},
            "Sessions that a sweep recovered from a holder that was gone, or whose cancellation it "
            "completed."),
    Gauge(Metric::kPoolConnections, "holdfast_postgres_connections", {Label::kPoolState},
          "Open connections to the database for calls."),
    Gauge(Metric::kPoolConnectionsLimit, "holdfast_postgres_connections_limit", {},
          "The configured connections of the store."),
    Read(Counter(Metric::kPoolOpened, "holdfast_postgres_connections_opened_total", {},
                 "Connections to the database that were opened.")),
    Read(Counter(Metric::kPoolWaits, "holdfast_postgres_pool_waits_total", {},
                 "Times that no connection of the pool was free at once.")),
    Read(Counter(Metric::kPoolWaitTime, "holdfast_postgres_pool_wait_seconds_total", {},
                 "Time that was waited for a free connection, added up.")),
    Read(Counter(Metric::kPoolGivenUp, "holdfast_postgres_pool_timeouts_total", {},
                 "Waits for a connection that ended without one.")),
    Gauge(Metric::kFilesSize, "holdfast_files_size_bytes", {},
          "Size of the file system that holds the store's files; at most ten seconds old."),
    Gauge(Metric::kFilesFree, "holdfast_files_available_bytes", {},
          "What the server's user may still write there; at most ten seconds old."),
    Gauge(Metric::kDatabaseSize, "holdfast_postgres_database_size_bytes", {},
          "Size of the database on disk; at most two minutes old."),
    Gauge(Metric::kDatabaseTimeline, "holdfast_postgres_timeline", {},
          "The newest timeline of the database that was seen; a failover raises it."),
    Gauge(Metric::kDatabaseServers, "holdfast_postgres_serving_servers", {},
          "Servers that are registered in holdfast.serving; at most two minutes old."),
    Gauge(Metric::kSchemaStep, "holdfast_postgres_schema_step", {},
          "The newest schema step that was seen in the database; at most two minutes old while it "
          "answers."),
    Gauge(Metric::kSchemaStepKnown, "holdfast_postgres_schema_step_known", {},
          "The newest schema step that this server's program knows."),
    Gauge(Metric::kServing, "holdfast_serving", {}, "1 while health says SERVING, else 0."),
    Gauge(Metric::kInsecure, "holdfast_insecure", {},
          "1 if server.insecure or a store's insecure is set, else 0."),
    Gauge(Metric::kBuildInfo, "holdfast_build_info", {Label::kServerVersion},
          "Always 1; the label says the version of the server."),
    Gauge(Metric::kProcessMemory, "process_resident_memory_bytes", {},
          "Resident memory of the process; at most ten seconds old."),
    Read(Counter(Metric::kProcessCpu, "process_cpu_seconds_total", {},
                 "Processor time of the process, user and system; at most ten seconds old.")),
    Gauge(Metric::kProcessDescriptors, "process_open_fds", {},
          "Open descriptors of the process; at most ten seconds old."),
    Gauge(Metric::kProcessDescriptorsLimit, "process_max_fds", {},
          "The soft limit of open descriptors."),
    Gauge(Metric::kProcessThreads, "process_threads", {},
          "Threads of the process; at most ten seconds old."),
    Gauge(Metric::kProcessStart, "process_start_time_seconds", {},
          "When the server started, in seconds since 1970."),
}};

}  // namespace holdfast
