// The span of the call whose work this thread does, for what is measured below it.
#ifndef HOLDFAST_SERVER_TELEMETRY_ACTIVE_SPAN_H_
#define HOLDFAST_SERVER_TELEMETRY_ACTIVE_SPAN_H_

#include "server/telemetry/span.h"
#include "session/store_meter.h"

namespace holdfast {

// Makes a span the active one of its thread while it lives; the one before is active again then.
class ActiveSpan final {
 public:
  // Null: the work is not recorded. The span must outlive this.
  explicit ActiveSpan(const Span* span);
  ActiveSpan(const ActiveSpan&) = delete;
  ActiveSpan& operator=(const ActiveSpan&) = delete;
  ~ActiveSpan();

  // Null where nothing is recorded.
  static const Span* OfThisThread();
  // Whether one lives on this thread, be its work recorded or not: what is done then was asked for
  // by a call.
  static bool InOperation();

 private:
  const Span* const before_;
};

// The ids of a span as a store gets them, and the span that has these ids and nothing else.
RecordedSpan RecordOf(const Span& span);
Span SpanOf(RecordedSpan recorded);

// The beginning of a span below `parent`, of the same trace, with `id` as its own.
Span ChildOf(const Span& parent, std::string id);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_ACTIVE_SPAN_H_
