#include "session/store_meter.h"

namespace holdfast {
namespace {

class NoMeter final : public StoreMeter {
 public:
  void GroupWritten(const WrittenGroup& /*group*/) override {}
  void OnConnections(std::function<ConnectionUse()> /*read*/) override {}
  void OnDatabase(std::function<absl::StatusOr<DatabaseUse>()> /*measure*/) override {}
  void OnSessions(std::function<SessionCounts()> /*count*/) override {}
  [[nodiscard]] std::optional<RecordedSpan> CurrentSpan() const override { return std::nullopt; }
  void StatementEnded(const StatementRun& /*run*/,
                      const std::vector<RecordedSpan>& /*spans*/) override {}
};

}  // namespace

StoreMeter& StoreMeter::None() {
  static NoMeter none;
  return none;
}

}  // namespace holdfast
