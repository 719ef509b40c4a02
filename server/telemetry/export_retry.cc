#include "server/telemetry/export_retry.h"

#include <algorithm>
#include <string>

namespace holdfast {
namespace {

constexpr double kBytesValues = 256;

}  // namespace

bool IsRetryable(const ExportAnswer& answer) {
  switch (answer.code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return true;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return answer.retry_after.has_value();
    default:
      return false;
  }
}

std::optional<absl::Duration> ExportRetry::Next(const ExportAnswer& answer, absl::Duration now) {
  absl::Duration pause = limits_.first;
  for (int i = 0; i < tries_ && pause < limits_.most; ++i) pause *= 2;
  pause = std::min(pause, limits_.most);
  ++tries_;
  const auto byte = static_cast<unsigned char>(random_.Bytes(1)[0]);
  pause = pause / 2 * (1 + byte / kBytesValues);
  if (answer.retry_after) pause = std::max(pause, *answer.retry_after);
  if (now + pause >= give_up_at_) return std::nullopt;
  return pause;
}

}  // namespace holdfast
