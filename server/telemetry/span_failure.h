// What a span says of an operation that did not succeed.
#ifndef HOLDFAST_SERVER_TELEMETRY_SPAN_FAILURE_H_
#define HOLDFAST_SERVER_TELEMETRY_SPAN_FAILURE_H_

#include "server/telemetry/span.h"

#include "absl/status/status.h"

namespace holdfast {

// Adds the reason of `status`, which is not OK, as `error.type`. The span is one that failed only
// where the conventions count the code as a failure of the server. Answers the code.
absl::StatusCode AddFailure(const absl::Status& status, Span& span);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_SPAN_FAILURE_H_
