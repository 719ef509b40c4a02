// A store whose calls are counted and timed, by the clock it was given, and whose applied changes
// are counted as transitions and grants. It passes every call on and changes no answer.
#ifndef HOLDFAST_SERVER_TELEMETRY_OBSERVED_STORE_H_
#define HOLDFAST_SERVER_TELEMETRY_OBSERVED_STORE_H_

#include "platform/clock.h"
#include "server/telemetry/commit_spans.h"
#include "server/telemetry/metrics.h"
#include "session/forwarding_store.h"
#include "session/store.h"
#include "session/store_call.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast {

struct SlowStoreCall {
  StoreCall call = StoreCall::kCommit;
  absl::Duration took;
  absl::StatusCode code = absl::StatusCode::kOk;
};

struct ObservedStoreOptions {
  absl::Duration slow = absl::Seconds(1);  // what takes at least this long is slow
  // Called on the calling thread, after the call; must be quick. May be empty.
  std::function<void(const SlowStoreCall&)> on_slow;
  std::optional<CommitSpans> spans;  // where spans are exported
};

// Any thread may call.
class ObservedStore final : public ForwardingStore {
 public:
  // `clock` and `metrics` must outlive this.
  ObservedStore(std::unique_ptr<SessionStore> store, const Clock& clock, Metrics& metrics,
                ObservedStoreOptions options = {});

  absl::StatusOr<CommitResult> Commit(const Change& change) override;
  // Each change that is done counts as a Commit, and took as long as all.
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes) override;

 private:
  // Times and records the call. Calls that ForwardingStore does not surround are not counted.
  absl::Status Around(StoreCall call, absl::FunctionRef<absl::Status()> act) override;
  [[nodiscard]] absl::Duration DurationOf(absl::FunctionRef<void()> act) const;
  void Record(StoreCall call, absl::Duration took, const absl::Status& status);
  void CountAnswer(const Change& change, const absl::StatusOr<CommitResult>& answer);
  void CountApplied(const Change& change, const CommitResult& result);

  const Clock& clock_;
  Metrics& metrics_;
  const ObservedStoreOptions options_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_OBSERVED_STORE_H_
