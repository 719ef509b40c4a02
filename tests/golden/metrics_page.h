// The page of metrics, and the list that a change to them shows up in.
#ifndef HOLDFAST_TESTS_GOLDEN_METRICS_PAGE_H_
#define HOLDFAST_TESTS_GOLDEN_METRICS_PAGE_H_

#include <string>

namespace holdfast::test {

// The text of docs/metrics.md, made from the table.
std::string MetricsPage();

// A line for each metric: name, type, unit, labels, buckets, help.
std::string MetricsList();

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_GOLDEN_METRICS_PAGE_H_
