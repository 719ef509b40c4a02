// The metrics over HTTP, at `/metrics`, in the text format of Prometheus.
#ifndef HOLDFAST_SERVER_TELEMETRY_METRICS_ENDPOINT_H_
#define HOLDFAST_SERVER_TELEMETRY_METRICS_ENDPOINT_H_

#include "server/telemetry/metrics.h"

#include "absl/status/statusor.h"

#include <memory>
#include <string>

namespace holdfast {

// Any thread may call.
class MetricsEndpoint {
 public:
  // Listens at `address` (IPV4:PORT; port 0 takes a free one) and serves `metrics`, which must
  // outlive this, on two threads. UNAVAILABLE, with words for the operator, when that is not
  // possible.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const std::string& address,
                                                                const Metrics& metrics);
  MetricsEndpoint() = default;
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;
  // Waits for a scrape that is under way, and for the library's threads: up to about two seconds.
  virtual ~MetricsEndpoint() = default;

  // IPV4:PORT, the port the real one.
  [[nodiscard]] virtual const std::string& address() const = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_METRICS_ENDPOINT_H_
