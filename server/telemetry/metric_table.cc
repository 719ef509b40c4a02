#include "server/telemetry/metric_table.h"

#include "holdfast/version.h"
#include "server/rpc/call/method.h"
#include "server/telemetry/transition.h"
#include "session/reasons.h"
#include "session/store_call.h"

#include <algorithm>

namespace holdfast {
namespace {

using Values = std::vector<std::string_view>;

// From a commit on a fast disk to what a client no longer waits for.
constexpr std::array<double, 15> kSecondsBounds = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
// Up to the most changes of one write.
constexpr std::array<double, 7> kChangesBounds = {1, 2, 4, 8, 16, 32, 64};
// 256 B to 16 MiB.
constexpr std::array<double, 9> kBytesBounds = {256,    1024,    4096,    16384,   65536,
                                                262144, 1048576, 4194304, 16777216};

// By the numbers of the gRPC codes.
const Values kCodes = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

Values Reasons() {
  Values values;
  for (const ReasonRow& row : kReasonRows) values.push_back(row.name);
  return values;
}

Values States() {
  Values values;
  for (size_t state = 0; state < kStates; ++state) values.push_back(StateName(state));
  return values;
}

Values Lifecycles() {
  Values values;
  for (size_t state = 0; state < kLifecycles; ++state) {
    values.push_back(Name(static_cast<Lifecycle>(state)));
  }
  return values;
}

Values Triggers() {
  Values values;
  for (size_t trigger = 0; trigger <= kTriggerCreate; ++trigger) {
    values.push_back(TriggerName(trigger));
  }
  return values;
}

Values StoreCalls() {
  Values values;
  for (size_t call = 0; call < kStoreCalls; ++call) {
    values.push_back(Name(static_cast<StoreCall>(call)));
  }
  return values;
}

struct LabelRow {
  std::string_view name;
  Values values;
};

// In the order of Label.
const std::array<LabelRow, 20>& Labels() {
  static const std::array<LabelRow, 20> kRows = {
      {{"", {""}},
       {"method", {kMethods.begin(), kMethods.end()}},
       {"code", kCodes},
       {"reason", Reasons()},
       {"from", States()},
       {"to", States()},
       {"trigger", Triggers()},
       {"call", StoreCalls()},
       {"result", {"applied", "repeated", "moved", "refused"}},
       {"limit", {"rate", "peer", "server"}},
       {"cause", {"resets", "memory"}},
       {"cause", {"rate", "queue"}},
       {"previous_holder", {"none", "same", "other"}},
       {"work", {"log_switch", "rotation", "compaction"}},
       {"sweep", {"abandoned", "cancelled"}},
       {"outcome", {"ok", "failed"}},
       {"state", {"idle", "in_use"}},
       {"lifecycle", Lifecycles()},
       {"outcome", {"exported", "rejected", "queue_full", "refused", "given_up", "stopped"}},
       {"version", {kVersion}}}};
  return kRows;
}

}  // namespace

const MetricRow& RowOf(Metric metric) { return kMetricRows.at(static_cast<size_t>(metric)); }

std::string_view NameOf(MetricType type) {
  static constexpr std::array<std::string_view, 3> kNames = {"counter", "gauge", "histogram"};
  return kNames.at(static_cast<size_t>(type));
}

std::string_view NameOf(Label label) { return Labels().at(static_cast<size_t>(label)).name; }

const std::vector<std::string_view>& ValuesOf(Label label) {
  return Labels().at(static_cast<size_t>(label)).values;
}

std::span<const double> BoundsOf(Buckets buckets) {
  switch (buckets) {
    case Buckets::kNone:
      return {};
    case Buckets::kSeconds:
      return kSecondsBounds;
    case Buckets::kChanges:
      return kChangesBounds;
    case Buckets::kBytes:
      return kBytesBounds;
  }
  return {};
}

}  // namespace holdfast
