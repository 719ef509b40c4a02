// The metrics and spans of what the active store reports of itself (session/store_meter.h).
#ifndef HOLDFAST_SERVER_TELEMETRY_STORE_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_STORE_METRICS_H_

#include "platform/clock.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/tracer.h"
#include "session/store_meter.h"

#include "absl/time/time.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace holdfast {

// How often the database is measured at most.
inline constexpr absl::Duration kMeasureInterval = absl::Seconds(50);

class StoreMetrics final : public StoreMeter {
 public:
  // Both must outlive this.
  StoreMetrics(Metrics& metrics, const Clock& clock) : metrics_(metrics), clock_(clock) {}

  void GroupWritten(const WrittenGroup& group) override;
  void TailCut() override;
  void FileWorkDone(FileWork work) override;
  void OnConnections(const std::function<ConnectionUse()>& read) override;
  void OnDatabase(const std::function<absl::StatusOr<DatabaseUse>()>& measure) override;

  void OnSessions(const std::function<SessionCounts()>& count) override;
  [[nodiscard]] std::optional<RecordedSpan> CurrentSpan() const override;
  void StatementEnded(const StatementRun& run, const std::vector<RecordedSpan>& spans) override;

  // From now on statements of recorded operations are spans. `tracer` must outlive the store's
  // calls. Called before the store is initialised.
  void Trace(Tracer& tracer) { tracer_ = &tracer; }

  // Measures the database, if there is one and it was not measured within kMeasureInterval. Blocks.
  // For one thread.
  void Measure();

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  Metrics& metrics_;
  const Clock& clock_;
  Tracer* tracer_ = nullptr;  // where spans are exported
  std::function<absl::StatusOr<DatabaseUse>()> measure_;
  absl::Duration measured_ = -absl::InfiniteDuration();
  std::atomic<double> bytes_ = kUnknown;
  std::atomic<double> servers_ = kUnknown;
  std::atomic<double> active_ = kUnknown;
  std::atomic<double> schema_step_ = kUnknown;
  std::atomic<double> schema_step_known_ = kUnknown;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_STORE_METRICS_H_
