#include "server/telemetry/span_failure.h"

#include "session/reasons.h"
#include "session/refusal.h"

#include <string>

namespace holdfast {
namespace {

bool IsServersFault(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusCode AddFailure(const absl::Status& status, Span& span) {
  const ReasonRow& row = RowOf(RefusalOf(status).reason());
  span.attributes.push_back({"error.type", std::string(row.name)});
  if (IsServersFault(row.status)) {
    span.status = {.failed = true, .message = std::string(row.name)};
  }
  return row.status;
}

}  // namespace holdfast
