// When a batch of spans that was not taken is sent again: the rules of the OpenTelemetry protocol.
#ifndef HOLDFAST_SERVER_TELEMETRY_EXPORT_RETRY_H_
#define HOLDFAST_SERVER_TELEMETRY_EXPORT_RETRY_H_

#include "platform/clock.h"
#include "session/limits.h"

#include "absl/time/time.h"
#include <grpcpp/support/status_code_enum.h>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast {

// What a receiver answered to a batch.
struct ExportAnswer {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message;                        // of one that is not OK, for the operator
  std::optional<absl::Duration> retry_after;  // RetryInfo
  int64_t rejected = 0;                       // spans of a batch that was taken in part
};

struct RetryLimits {
  absl::Duration first = kSpanRetryFirst;
  absl::Duration most = kSpanRetryMost;
  absl::Duration give_up = kSpanRetryGiveUp;
};

// True when the protocol allows to send the batch again. A receiver that lacks resources says with
// RetryInfo that it will have them again.
bool IsRetryable(const ExportAnswer& answer);

// The tries of one batch. For one thread.
class ExportRetry final {
 public:
  // `random` must outlive this. `began` is when the batch was first sent, since boot.
  ExportRetry(RetryLimits limits, Random& random, absl::Duration began)
      : limits_(limits), random_(random), give_up_at_(began + limits.give_up) {}

  // How long to wait before the batch is sent again: a pause that doubles, between a half and the
  // whole of it by chance, and at least what RetryInfo says. nullopt when the next try would come
  // after the time to give up.
  std::optional<absl::Duration> Next(const ExportAnswer& answer, absl::Duration now);

 private:
  const RetryLimits limits_;
  Random& random_;
  const absl::Duration give_up_at_;
  int tries_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_EXPORT_RETRY_H_
