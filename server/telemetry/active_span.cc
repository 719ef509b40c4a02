#include "server/telemetry/active_span.h"

#include <utility>

namespace holdfast {
namespace {

thread_local const Span* span_of_this_thread = nullptr;
thread_local int operations = 0;  // that are under way

}  // namespace

ActiveSpan::ActiveSpan(const Span* span) : before_(std::exchange(span_of_this_thread, span)) {
  ++operations;
}

ActiveSpan::~ActiveSpan() {
  span_of_this_thread = before_;
  --operations;
}

const Span* ActiveSpan::OfThisThread() { return span_of_this_thread; }

bool ActiveSpan::InOperation() { return operations > 0; }

RecordedSpan RecordOf(const Span& span) {
  return {.trace_id = span.trace_id, .span_id = span.span_id, .trace_state = span.trace_state};
}

Span SpanOf(RecordedSpan recorded) {
  Span span;
  span.trace_id = std::move(recorded.trace_id);
  span.span_id = std::move(recorded.span_id);
  span.trace_state = std::move(recorded.trace_state);
  return span;
}

Span ChildOf(const Span& parent, std::string id) {
  return {.trace_id = parent.trace_id,
          .span_id = std::move(id),
          .parent_span_id = parent.span_id,
          .flags = parent.flags,
          .trace_state = parent.trace_state};
}

}  // namespace holdfast
