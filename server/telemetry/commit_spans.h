// The spans of a change below that of its call: what the store took for it, and the transition of
// the session that it made.
#ifndef HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_
#define HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_

#include "server/telemetry/span.h"
#include "server/telemetry/tracer.h"
#include "session/change.h"
#include "session/store.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <optional>
#include <string>
#include <utility>

namespace holdfast {

// Any thread may call.
class CommitSpans final {
 public:
  // `tracer` must outlive the calls; `store_kind` is as in StoreDescription.
  CommitSpans(Tracer& tracer, std::string store_kind)
      : tracer_(&tracer), store_kind_(std::move(store_kind)) {}

  // The span of a change that the store is about to be given on this thread, for what the store
  // does below it. nullopt: the call is not recorded.
  [[nodiscard]] std::optional<Span> Begin() const;
  // The store has answered `change` with `result`, on this thread, after `took`; `begun` is what
  // Begin answered. For a call that is recorded, and for what a sweep changed, exports a span
  // `store.Commit`, and where the change was applied and set the lifecycle a span
  // `session.transition`. A turn that the change has ended is exported as `session.turn`, if the
  // call that began it was recorded.
  void Record(const Change& change, const absl::StatusOr<CommitResult>& result, absl::Duration took,
              std::optional<Span> begun) const;

 private:
  // Without its times. nullopt: there is none, or it is not recorded. `call` may be null.
  [[nodiscard]] std::optional<Span> TransitionSpan(const Change& change, const CommitResult& result,
                                                   const Span* call) const;

  Tracer* tracer_;
  std::string store_kind_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_
