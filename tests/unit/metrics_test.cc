// The table of metrics and their cells.
#include "server/telemetry/metrics.h"

#include "server/rpc/call/method.h"
#include "server/telemetry/metric_table.h"
#include "server/telemetry/observed_store.h"
#include "server/telemetry/transition.h"
#include "session/reasons.h"
#include "tests/support/method_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAreArray;

// The shown series of `metric`.
std::vector<Series> ShownSeries(const Metrics& metrics, Metric metric) {
  for (const MetricFamily& family : metrics.Collect()) {
    if (family.row->metric == metric) return family.series;
  }
  return {};
}

TEST(MetricTable, IsInTheOrderOfTheEnum) {
  for (size_t index = 0; index < kMetrics; ++index) {
    EXPECT_EQ(static_cast<size_t>(kMetricRows.at(index).metric), index);
  }
}

TEST(MetricTable, FollowsTheConventionsOfNames) {
  std::set<std::string_view> names;
  for (const MetricRow& row : kMetricRows) {
    const std::string_view name = row.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(name.starts_with("holdfast_") || name.starts_with("process_")) << name;
    EXPECT_EQ(name.ends_with("_total"), row.type == MetricType::kCounter) << name;
    for (const char* suffix : {"_count", "_sum", "_bucket"}) {
      EXPECT_FALSE(name.ends_with(suffix)) << name;
    }
    EXPECT_TRUE(row.help.ends_with('.')) << name;
    EXPECT_EQ(row.type == MetricType::kHistogram, row.buckets != Buckets::kNone) << name;
    // A series that a reader fills has no value of its own, so it is never hidden at zero.
    EXPECT_FALSE(row.source == Source::kRead && row.zeros == Zeros::kHidden) << name;
  }
}

TEST(MetricTable, LabelsHaveAValueForEachIndex) {
  EXPECT_EQ(ValuesOf(Label::kMethod).size(), kMethods.size());
  EXPECT_EQ(ValuesOf(Label::kCode).size(), 17U);
  EXPECT_EQ(ValuesOf(Label::kCode).at(14), "UNAVAILABLE");
  EXPECT_EQ(ValuesOf(Label::kReason).size(), kReasonRows.size());
  EXPECT_EQ(ValuesOf(Label::kFrom).at(kStateAbsent), "NONE");
  EXPECT_EQ(ValuesOf(Label::kTo).at(kStateDeleted), "DELETED");
  EXPECT_EQ(ValuesOf(Label::kTrigger).at(kTriggerCreate), "Create");
  EXPECT_EQ(ValuesOf(Label::kCall).size(), kStoreCalls);
  for (const MetricRow& row : kMetricRows) {
    for (const Label label : row.labels) {
      const auto& values = ValuesOf(label);
      EXPECT_EQ(std::set<std::string_view>(values.begin(), values.end()).size(), values.size());
    }
  }
}

TEST(MetricTable, HasEveryMethodOfTheServices) {
  std::vector<std::string> methods;
  for (const auto* method : ApiMethods()) methods.push_back(method->name());
  EXPECT_THAT(methods, UnorderedElementsAreArray(kMethods));
}

TEST(Metrics, HasACellOfItsOwnForEachSeries) {
  Metrics metrics;
  std::set<size_t> cells;
  for (const MetricRow& row : kMetricRows) {
    for (size_t a = 0; a < ValuesOf(row.labels[0]).size(); ++a) {
      for (size_t b = 0; b < ValuesOf(row.labels[1]).size(); ++b) {
        for (size_t c = 0; c < ValuesOf(row.labels[2]).size(); ++c) {
          EXPECT_TRUE(cells.insert(metrics.CellOf(row.metric, {a, b, c}).index).second) << row.name;
        }
      }
    }
  }
}

TEST(Metrics, ShowsLabelsByTheirIndexes) {
  Metrics metrics;
  EXPECT_THAT(ShownSeries(metrics, Metric::kRpcHandled), ElementsAre()) << "hidden until it moves";
  constexpr MethodName kEcho = "Echo";
  metrics.Add(metrics.CellOf(Metric::kRpcHandled, {kEcho.index(), 14}), 3);
  const std::vector<Series> shown = ShownSeries(metrics, Metric::kRpcHandled);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_THAT(shown[0].labels, ElementsAre(Pair("method", "Echo"), Pair("code", "UNAVAILABLE")));
  EXPECT_EQ(shown[0].value, 3);
  EXPECT_EQ(ShownSeries(metrics, Metric::kStoreCommits).size(), 4U) << "zeros are shown";
}

TEST(Metrics, PutsABoundIntoItsOwnBucket) {
  Metrics metrics;
  const Metrics::Cell cell = metrics.CellOf(Metric::kStoreGroupChanges);
  for (const uint64_t changes : {1, 2, 3, 64, 65}) metrics.Observe(cell, changes);
  const Series series = ShownSeries(metrics, Metric::kStoreGroupChanges).at(0);
  EXPECT_THAT(series.buckets, ElementsAre(1, 1, 1, 0, 0, 0, 1, 1));
  EXPECT_EQ(series.sum, 135);
}

TEST(Metrics, AddsSecondsUp) {
  Metrics metrics;
  const Metrics::Cell cell = metrics.CellOf(Metric::kStoreCallDuration, {0});
  metrics.Observe(cell, absl::Milliseconds(500));
  metrics.Observe(cell, absl::Microseconds(500));
  metrics.Observe(cell, absl::Minutes(1));
  metrics.Observe(cell, -absl::Seconds(1));  // a clock that went back
  const Series series = ShownSeries(metrics, Metric::kStoreCallDuration).at(0);
  EXPECT_DOUBLE_EQ(series.sum, 60.5005);
  EXPECT_EQ(series.buckets.front(), 2U);
  EXPECT_EQ(series.buckets.back(), 1U);
}

TEST(Metrics, ShowsNothingThatIsNotKnown) {
  Metrics metrics;
  EXPECT_THAT(ShownSeries(metrics, Metric::kDatabaseSize), ElementsAre()) << "it has no reader";
  double value = std::numeric_limits<double>::quiet_NaN();
  metrics.Read(Metric::kDatabaseSize, {}, [&value] { return value; });
  EXPECT_THAT(ShownSeries(metrics, Metric::kDatabaseSize), ElementsAre());
  value = 0;
  EXPECT_EQ(ShownSeries(metrics, Metric::kDatabaseSize).at(0).value, 0);
}

TEST(Metrics, LosesNothingBetweenThreads) {
  Metrics metrics;
  constexpr int kThreads = 4;
  constexpr int kTimes = 10'000;
  const Metrics::Cell counted = metrics.CellOf(Metric::kRpcReceivedBytes);
  const Metrics::Cell observed = metrics.CellOf(Metric::kStoreGroupBytes);
  const Metrics::Cell gauge = metrics.CellOf(Metric::kRpcInFlight, {0});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        metrics.Add(gauge);
        metrics.Add(counted, 2);
        metrics.Observe(observed, uint64_t{300});
        metrics.Subtract(gauge);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(ShownSeries(metrics, Metric::kRpcReceivedBytes).at(0).value, 2 * kThreads * kTimes);
  EXPECT_EQ(ShownSeries(metrics, Metric::kStoreGroupBytes).at(0).buckets.at(1),
            uint64_t{kThreads} * kTimes);
  EXPECT_EQ(ShownSeries(metrics, Metric::kRpcInFlight).at(0).value, 0);
}

}  // namespace
}  // namespace holdfast::test
