// Every metric of the server: one table of names, types, units, labels, buckets and help texts.
// tests/golden/metrics.golden and docs/metrics.md are made from it.
//
// A label takes its values from a closed list, so the number of series is fixed: none grows with
// sessions, tenants, peers or time.
#ifndef HOLDFAST_SERVER_TELEMETRY_METRIC_TABLE_H_
#define HOLDFAST_SERVER_TELEMETRY_METRIC_TABLE_H_

#include "session/lifecycle.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace holdfast {

// In the order of the table.
enum class Metric : uint8_t {
  kRpcStarted,
  kRpcHandled,
  kRpcDuration,
  kRpcInFlight,
  kRpcRefused,
  kRpcReceivedBytes,
  kRpcReplyBytes,
  kQueuedCalls,
  kQueuedCallsLimit,
  kQueueOldestAge,
  kWorkers,
  kWorkersBusy,
  kWorkersOnCore,
  kExceptions,
  kMemoryBudgetUsed,
  kMemoryBudgetLimit,
  kStagedUsed,
  kStagedLimit,
  kStreams,
  kWatchers,
  kWatchersLimit,
  kWatchLag,
  kConnections,
  kConnectionsLimit,
  kConnectionsAccepted,
  kConnectionsRefused,
  kAcceptPauses,
  kConnectionsClosed,
  kGuardedMemory,
  kGuardedMemoryLimit,
  kLogLinesLeftOut,
  kTransitions,
  kLeaseGrants,
  kStoreCallDuration,
  kStoreErrors,
  kStoreCommits,
  kStoreGroupChanges,
  kStoreGroupBytes,
  kStoreTailsCut,
  kFileWorkDone,
  kStoreWarnings,
  kStoreHealthy,
  kSessions,
  kSpans,
  kSpanExportsFailed,
  kUnsampledCalls,
  kSweeps,
  kSweptSessions,
  kPoolConnections,
  kPoolConnectionsLimit,
  kPoolOpened,
  kPoolWaits,
  kPoolWaitTime,
  kPoolGivenUp,
  kFilesSize,
  kFilesFree,
  kDatabaseSize,
  kDatabaseTimeline,
  kDatabaseServers,
  kSchemaStep,
  kSchemaStepKnown,
  kServing,
  kInsecure,
  kBuildInfo,
  kProcessMemory,
  kProcessCpu,
  kProcessDescriptors,
  kProcessDescriptorsLimit,
  kProcessThreads,
  kProcessStart,
};
inline constexpr size_t kMetrics = 70;

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

// What a label may say. Values by their index: see ValuesOf.
enum class Label : uint8_t {
  kNone,
  kMethod,           // index of kMethods
  kCode,             // number of the gRPC status
  kReason,           // index of kReasonRows
  kFrom,             // a state of server/telemetry/transition.h
  kTo,               // likewise
  kTrigger,          // a trigger of it
  kCall,             // index of StoreCall
  kResult,           // index of CommitResult::Kind
  kConnectionLimit,  // ConnectionLimit
  kConnectionCause,  // ConnectionCause
  kLogCause,         // LogCause
  kGrant,            // GrantKind
  kFileWork,         // FileWork
  kSweep,            // SweepKind
  kOutcome,          // Outcome
  kPoolState,        // PoolState
  kLifecycle,        // Lifecycle
  kSpanOutcome,      // SpanOutcome
  kServerVersion,    // one value
};

enum class ConnectionLimit : uint8_t { kRate, kPeer, kServer };
enum class ConnectionCause : uint8_t { kResets, kMemory };
enum class LogCause : uint8_t { kRate, kQueue };
enum class GrantKind : uint8_t { kFirst, kSame, kTakeover };
enum class SweepKind : uint8_t { kAbandoned, kCancelled };
enum class Outcome : uint8_t { kOk, kFailed };
enum class PoolState : uint8_t { kIdle, kInUse };
enum class SpanOutcome : uint8_t { kExported, kRejected, kQueueFull, kRefused, kGivenUp, kStopped };

enum class Buckets : uint8_t { kNone, kSeconds, kChanges, kBytes };

// Whether a series is shown before it first moves.
enum class Zeros : uint8_t { kShown, kHidden };

// Where its values come from: counted where things happen, or read from elsewhere at a scrape. One
// that is read and that this server has no reader for, such as of a database where there is none,
// is not shown.
enum class Source : uint8_t { kCounted, kRead };

inline constexpr size_t kMetricLabelsMost = 3;

struct MetricRow {
  Metric metric = Metric::kRpcStarted;
  std::string_view name;
  MetricType type = MetricType::kGauge;
  std::string_view unit;  // "seconds", "bytes", or nothing for a count
  std::array<Label, kMetricLabelsMost> labels{};
  Buckets buckets = Buckets::kNone;
  Zeros zeros = Zeros::kShown;
  Source source = Source::kCounted;
  std::string_view help;
};

// All rows, in the order of Metric.
extern const std::array<MetricRow, kMetrics> kMetricRows;

const MetricRow& RowOf(Metric metric);
std::string_view NameOf(MetricType type);
std::string_view NameOf(Label label);
// All values of a label, by their index. Lives as long as the process.
const std::vector<std::string_view>& ValuesOf(Label label);
// Upper bounds, inclusive, in the metric's unit; one more bucket has no bound.
std::span<const double> BoundsOf(Buckets buckets);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_METRIC_TABLE_H_
