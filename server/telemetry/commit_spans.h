// The spans of a change below that of its call: what the store took for it, and the transition of
// the session that it made.
#ifndef HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_
#define HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_

#include "server/telemetry/tracer.h"
#include "session/change.h"
#include "session/store.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <string>
#include <utility>

namespace holdfast {

// Any thread may call.
class CommitSpans final {
 public:
  // `tracer` must outlive the calls; `store_kind` is as in StoreDescription.
  CommitSpans(Tracer& tracer, std::string store_kind)
      : tracer_(&tracer), store_kind_(std::move(store_kind)) {}

  // The store has answered `change` with `result`, on this thread, after `took`. Exports a span
  // `store.Commit`, and where the change was applied and set the lifecycle a span
  // `session.transition`; nothing for a call that is not recorded.
  void Record(const Change& change, const absl::StatusOr<CommitResult>& result,
              absl::Duration took) const;

 private:
  Tracer* tracer_;
  std::string store_kind_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_
