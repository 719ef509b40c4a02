// The only file that sees prometheus-cpp.
#include "server/telemetry/metrics_endpoint.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <cstdint>
#include <exception>
#include <limits>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// A scrape takes milliseconds, and two scrapers may come at once.
constexpr char kThreads[] = "2";
// After which a client that does not finish its request, or does not read, is disconnected.
constexpr char kRequestTimeoutMs[] = "5000";

prometheus::MetricType TypeOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric::Histogram HistogramOf(const MetricRow& row, const Series& series) {
  prometheus::ClientMetric::Histogram histogram;
  const auto bounds = BoundsOf(row.buckets);
  uint64_t count = 0;
  for (size_t bucket = 0; bucket < series.buckets.size(); ++bucket) {
    count += series.buckets[bucket];
    histogram.bucket.push_back({.cumulative_count = count,
                                .upper_bound = bucket < bounds.size()
                                                   ? bounds[bucket]
                                                   : std::numeric_limits<double>::infinity()});
  }
  histogram.sample_count = count;
  histogram.sample_sum = series.sum;
  return histogram;
}

prometheus::ClientMetric MetricOf(const MetricRow& row, const Series& series) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : series.labels) {
    metric.label.push_back({.name = std::string(name), .value = std::string(value)});
  }
  switch (row.type) {
    case MetricType::kCounter:
      metric.counter.value = series.value;
      break;
    case MetricType::kGauge:
      metric.gauge.value = series.value;
      break;
    case MetricType::kHistogram:
      metric.histogram = HistogramOf(row, series);
      break;
  }
  return metric;
}

class Collected final : public prometheus::Collectable {
 public:
  explicit Collected(const Metrics& metrics) : metrics_(metrics) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    for (const MetricFamily& family : metrics_.Collect()) {
      prometheus::MetricFamily out{.name = std::string(family.row->name),
                                   .help = std::string(family.row->help),
                                   .type = TypeOf(family.row->type)};
      for (const Series& series : family.series) {
        out.metric.push_back(MetricOf(*family.row, series));
      }
      families.push_back(std::move(out));
    }
    return families;
  }

 private:
  const Metrics& metrics_;
};

class Endpoint final : public MetricsEndpoint {
 public:
  // Throws what the library throws.
  Endpoint(const std::string& address, const Metrics& metrics)
      : collected_(std::make_shared<Collected>(metrics)),
        exposer_({"listening_ports", address, "num_threads", kThreads, "request_timeout_ms",
                  kRequestTimeoutMs}) {
    exposer_.RegisterCollectable(collected_);
    const std::string host = address.substr(0, address.rfind(':'));
    address_ = absl::StrCat(host, ":", exposer_.GetListeningPorts().at(0));
  }

  [[nodiscard]] const std::string& address() const override { return address_; }

 private:
  const std::shared_ptr<Collected> collected_;
  prometheus::Exposer exposer_;
  std::string address_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(const std::string& address,
                                                                        const Metrics& metrics) {
  try {
    return std::make_unique<Endpoint>(address, metrics);
  } catch (const std::exception&) {
    // The library's text does not say why.
    return absl::UnavailableError(absl::StrCat(
        "telemetry.metrics_address: ", address,
        " cannot be listened at: is the port taken, or the address not one of this machine?"));
  }
}

}  // namespace holdfast
