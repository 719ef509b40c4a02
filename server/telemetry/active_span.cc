#include "server/telemetry/active_span.h"

#include <utility>

namespace holdfast {
namespace {

thread_local const Span* active = nullptr;

}  // namespace

ActiveSpan::ActiveSpan(const Span* span) : before_(std::exchange(active, span)) {}

ActiveSpan::~ActiveSpan() { active = before_; }

const Span* ActiveSpan::OfThisThread() { return active; }

Span ChildOf(const Span& parent, std::string id) {
  return {.trace_id = parent.trace_id,
          .span_id = std::move(id),
          .parent_span_id = parent.span_id,
          .flags = parent.flags,
          .trace_state = parent.trace_state};
}

}  // namespace holdfast
