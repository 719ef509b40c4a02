// The values of the metrics. Counting is one relaxed addition: no lock, and no search by name or
// label.
//
//   metrics.Add(metrics.CellOf(Metric::kRpcHandled, {method, code}));
#ifndef HOLDFAST_SERVER_TELEMETRY_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_METRICS_H_

#include "server/telemetry/metric_table.h"

#include "absl/time/time.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

// One series as a scrape shows it.
struct Series {
  std::vector<std::pair<std::string_view, std::string_view>> labels;  // name, value
  double value = 0;                                                   // of a counter or gauge
  // Of a histogram: how many were in each bucket alone, the one without a bound last.
  std::vector<uint64_t> buckets;
  double sum = 0;
};

struct MetricFamily {
  const MetricRow* row = nullptr;
  std::vector<Series> series;
};

// The index of an enumerator among the values of its label, as Metrics::CellOf takes it.
constexpr size_t LabelIndex(auto value) { return static_cast<size_t>(value); }

// Any thread may call, except Read.
class Metrics final {
 public:
  // Where one series is counted.
  struct Cell {
    size_t index = 0;
  };

  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics() = default;

  // The cell of `metric` for values of its labels, each by its index in ValuesOf, in the row's
  // order.
  [[nodiscard]] Cell CellOf(Metric metric, std::initializer_list<size_t> values = {}) const;

  // Of a counter, or of a gauge that is counted.
  void Add(Cell cell, uint64_t by = 1) {
    cells_[cell.index].fetch_add(by, std::memory_order_relaxed);
  }
  // Of a gauge that is counted.
  void Subtract(Cell cell) { cells_[cell.index].fetch_sub(1, std::memory_order_relaxed); }
  // Of a histogram of seconds.
  void Observe(Cell cell, absl::Duration took);
  // Of a histogram of bytes or of a count.
  void Observe(Cell cell, uint64_t amount);

  // What a metric whose source is kRead shows: `read` is called at each scrape, on its thread. It
  // must be quick, take no lock that is held across I/O, and cause no statement. Called before the
  // first scrape; what `read` uses must outlive the last one. NaN is not shown: it is not known.
  void Read(Metric metric, std::initializer_list<size_t> values, std::function<double()> read);

  // Every metric that has something to show, in the order of the table.
  [[nodiscard]] std::vector<MetricFamily> Collect() const;

 private:
  // Where the cells of a metric begin, and how many each series has.
  struct Place {
    size_t begin = 0;
    size_t series = 1;
    size_t cells = 1;  // of a histogram: its buckets, then the sum
  };

  void ObserveRaw(Cell cell, uint64_t raw);
  [[nodiscard]] size_t SeriesOf(Metric metric, std::initializer_list<size_t> values) const;
  // False when the series is not to be shown.
  bool Fill(const MetricRow& row, size_t series, Series& out) const;
  void FillHistogram(const MetricRow& row, size_t begin, Series& out) const;

  std::array<Place, kMetrics> places_;
  // Of each label of each metric, how many values it has.
  std::array<std::array<size_t, kMetricLabelsMost>, kMetrics> sizes_{};
  std::vector<std::atomic<uint64_t>> cells_;
  // Of the metric that a cell of a histogram belongs to: upper bounds as whole numbers.
  std::vector<const std::vector<uint64_t>*> bounds_;
  std::array<std::vector<uint64_t>, 4> bounds_of_;
  std::vector<std::function<double()>> readers_;  // by cell; empty where none is set
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_METRICS_H_
