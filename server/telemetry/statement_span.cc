#include "server/telemetry/statement_span.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast {

Span StatementSpan(const StatementRun& run, const std::vector<RecordedSpan>& spans) {
  Span span{.trace_id = spans.front().trace_id,
            .parent_span_id = spans.front().span_id,
            .trace_state = spans.front().trace_state,
            .name = std::string(run.name),
            .kind = SpanKind::kClient};
  span.attributes = {{"db.system.name", "postgresql"}, {"db.query.summary", std::string(run.name)}};
  if (spans.size() > 1) {
    span.attributes.push_back({"db.operation.batch.size", static_cast<int64_t>(spans.size())});
  }
  for (size_t i = 1; i < spans.size(); ++i) {
    span.links.push_back(
        {.trace_id = spans[i].trace_id, .span_id = spans[i].span_id, .relation = "group_member"});
  }
  if (run.error.empty()) return span;
  if (run.error != "connection") span.attributes.push_back({"db.response.status_code", run.error});
  span.attributes.push_back({"error.type", run.error});
  span.status = {.failed = true, .message = run.error};
  return span;
}

}  // namespace holdfast
