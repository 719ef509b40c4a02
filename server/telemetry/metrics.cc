#include "server/telemetry/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

namespace holdfast {
namespace {

// Histograms of seconds count whole nanoseconds.
constexpr double kNanoseconds = 1e9;

double ScaleOf(Buckets buckets) { return buckets == Buckets::kSeconds ? kNanoseconds : 1; }

size_t RowIndex(Metric metric) { return static_cast<size_t>(metric); }

}  // namespace

Metrics::Metrics() {
  for (size_t kind = 0; kind < bounds_of_.size(); ++kind) {
    const auto buckets = static_cast<Buckets>(kind);
    for (const double bound : BoundsOf(buckets)) {
      bounds_of_.at(kind).push_back(static_cast<uint64_t>(std::llround(bound * ScaleOf(buckets))));
    }
  }
  size_t end = 0;
  for (const MetricRow& row : kMetricRows) {
    Place& place = places_.at(RowIndex(row.metric));
    place.begin = end;
    for (size_t label = 0; label < kMetricLabelsMost; ++label) {
      const size_t size = ValuesOf(row.labels.at(label)).size();
      sizes_.at(RowIndex(row.metric)).at(label) = size;
      place.series *= size;
    }
    if (row.type == MetricType::kHistogram) place.cells = BoundsOf(row.buckets).size() + 2;
    end += place.series * place.cells;
    bounds_.resize(end, &bounds_of_.at(static_cast<size_t>(row.buckets)));
  }
  cells_ = std::vector<std::atomic<uint64_t>>(end);
  readers_.resize(end);
}

size_t Metrics::SeriesOf(Metric metric, std::initializer_list<size_t> values) const {
  size_t series = 0;
  const auto* size = sizes_[RowIndex(metric)].begin();
  for (const size_t value : values) series = series * *size++ + value;
  return series;
}

Metrics::Cell Metrics::CellOf(Metric metric, std::initializer_list<size_t> values) const {
  const Place& place = places_[RowIndex(metric)];
  return {place.begin + SeriesOf(metric, values) * place.cells};
}

void Metrics::Observe(Cell cell, absl::Duration took) {
  ObserveRaw(cell, static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Nanoseconds(took))));
}

void Metrics::Observe(Cell cell, uint64_t amount) { ObserveRaw(cell, amount); }

void Metrics::ObserveRaw(Cell cell, uint64_t raw) {
  const std::vector<uint64_t>& bounds = *bounds_[cell.index];
  const auto bucket =
      static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), raw) - bounds.begin());
  cells_[cell.index + bucket].fetch_add(1, std::memory_order_relaxed);
  cells_[cell.index + bounds.size() + 1].fetch_add(raw, std::memory_order_relaxed);
}

void Metrics::Read(Metric metric, std::initializer_list<size_t> values,
                   std::function<double()> read) {
  // A defect of the table: what is read would never be shown.
  if (RowOf(metric).source != Source::kRead) std::abort();
  readers_.at(CellOf(metric, values).index) = std::move(read);
}

void Metrics::FillHistogram(const MetricRow& row, size_t begin, Series& out) const {
  const size_t buckets = BoundsOf(row.buckets).size() + 1;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    out.buckets.push_back(cells_[begin + bucket].load(std::memory_order_relaxed));
  }
  out.sum = static_cast<double>(cells_[begin + buckets].load(std::memory_order_relaxed)) /
            ScaleOf(row.buckets);
}

bool Metrics::Fill(const MetricRow& row, size_t series, Series& out) const {
  const Place& place = places_.at(RowIndex(row.metric));
  const size_t cell = place.begin + series * place.cells;
  bool moved = false;
  if (row.type == MetricType::kHistogram) {
    FillHistogram(row, cell, out);
    moved = std::ranges::any_of(out.buckets, [](uint64_t count) { return count > 0; });
  } else if (row.source == Source::kRead) {
    if (!readers_[cell]) return false;
    out.value = readers_[cell]();
    if (std::isnan(out.value)) return false;
    moved = true;
  } else {
    // A gauge that is counted may be seen below 0 for a moment.
    const auto count = static_cast<int64_t>(cells_[cell].load(std::memory_order_relaxed));
    out.value = static_cast<double>(count);
    moved = count != 0;
  }
  return moved || row.zeros == Zeros::kShown;
}

std::vector<MetricFamily> Metrics::Collect() const {
  std::vector<MetricFamily> families;
  for (const MetricRow& row : kMetricRows) {
    MetricFamily family{.row = &row};
    for (size_t index = 0; index < places_.at(RowIndex(row.metric)).series; ++index) {
      Series series;
      if (!Fill(row, index, series)) continue;
      size_t rest = index;
      for (size_t label = kMetricLabelsMost; label-- > 0;) {
        if (row.labels.at(label) == Label::kNone) continue;
        const std::vector<std::string_view>& values = ValuesOf(row.labels.at(label));
        series.labels.emplace(series.labels.begin(), NameOf(row.labels.at(label)),
                              values.at(rest % values.size()));
        rest /= values.size();
      }
      family.series.push_back(std::move(series));
    }
    if (!family.series.empty()) families.push_back(std::move(family));
  }
  return families;
}

}  // namespace holdfast
