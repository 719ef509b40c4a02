// The span of a statement, by the conventions of OpenTelemetry for clients of databases.
#ifndef HOLDFAST_SERVER_TELEMETRY_STATEMENT_SPAN_H_
#define HOLDFAST_SERVER_TELEMETRY_STATEMENT_SPAN_H_

#include "server/telemetry/span.h"
#include "session/store_meter.h"

#include <vector>

namespace holdfast {

// Without id and times. It is below the first of `spans`, which has at least one, and links to the
// others: the members of a group that one statement wrote.
Span StatementSpan(const StatementRun& run, const std::vector<RecordedSpan>& spans);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_STATEMENT_SPAN_H_
