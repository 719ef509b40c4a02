#include "tests/golden/metrics_page.h"

#include "server/telemetry/metric_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {
namespace {

std::vector<std::string> LabelsOf(const MetricRow& row) {
  std::vector<std::string> names;
  for (const Label label : row.labels) {
    if (label != Label::kNone) names.emplace_back(NameOf(label));
  }
  return names;
}

std::string OrDash(const std::string& text) { return text.empty() ? "–" : text; }

std::string NameOf(Buckets buckets) {
  switch (buckets) {
    case Buckets::kNone:
      return "";
    case Buckets::kSeconds:
      return "seconds";
    case Buckets::kChanges:
      return "changes";
    case Buckets::kBytes:
      return "bytes";
  }
  return "";
}

std::string Bounds(Buckets buckets) {
  return absl::StrJoin(BoundsOf(buckets), ", ",
                       [](std::string* out, double bound) { absl::StrAppend(out, bound); });
}

// Those that have the label with these values.
std::string MetricsWith(Label label) {
  std::vector<std::string> names;
  for (const MetricRow& row : kMetricRows) {
    if (std::ranges::find(row.labels, label) == row.labels.end()) continue;
    names.push_back(absl::StrCat("`", std::string(row.name), "`"));
  }
  return absl::StrJoin(names, " ");
}

void AppendLabels(std::string& page) {
  absl::StrAppend(&page, "\n## Labels\n\n| label | of | values |\n|---|---|---|\n");
  std::set<std::string> seen;
  for (const MetricRow& row : kMetricRows) {
    for (const Label label : row.labels) {
      // The version is one value, and changes with each release.
      if (label == Label::kNone || label == Label::kServerVersion) continue;
      const std::string metrics = MetricsWith(label);
      if (!seen.insert(absl::StrCat(std::string(NameOf(label)), " ", metrics)).second) continue;
      std::vector<std::string> values;
      for (const std::string_view value : ValuesOf(label)) {
        values.push_back(absl::StrCat("`", std::string(value), "`"));
      }
      absl::StrAppend(&page, "| `", std::string(NameOf(label)), "` | ", metrics, " | ",
                      absl::StrJoin(values, " "), " |\n");
    }
  }
}

}  // namespace

std::string MetricsPage() {
  std::string page =
      "# Metrics\n\nEvery metric of the server. This page is made from "
      "`server/telemetry/metric_rows.cc`; `golden.Golden.MetricsPage` keeps it true. How to scrape "
      "them: [operations.md](operations.md#metrics).\n\n"
      "A label takes its values from a closed list ([below](#labels)); no label names a session, a "
      "tenant or a peer. A series of a metric marked *sparse* appears when it first moves. A "
      "metric "
      "of a store of another kind is absent. gRPC's health and reflection services, and methods "
      "that do not exist, are not counted by method.\n\n"
      "| metric | type | labels | buckets | what |\n|---|---|---|---|---|\n";
  for (const MetricRow& row : kMetricRows) {
    absl::StrAppend(&page, "| `", std::string(row.name), "` | ", std::string(NameOf(row.type)),
                    row.zeros == Zeros::kHidden ? ", sparse" : "", " | ",
                    OrDash(absl::StrJoin(LabelsOf(row), ", ")), " | ", OrDash(NameOf(row.buckets)),
                    " | ", std::string(row.help), " |\n");
  }
  absl::StrAppend(&page,
                  "\nThe exporter adds `exposer_transferred_bytes_total`, `exposer_scrapes_total` "
                  "and `exposer_request_latencies` (microseconds) of its own.\n\n"
                  "## Buckets\n\nUpper bounds, inclusive; one more bucket has none.\n\n"
                  "| buckets | bounds |\n|---|---|\n");
  for (const Buckets buckets : {Buckets::kSeconds, Buckets::kChanges, Buckets::kBytes}) {
    absl::StrAppend(&page, "| ", NameOf(buckets), " | ", Bounds(buckets), " |\n");
  }
  AppendLabels(page);
  return page;
}

std::string MetricsList() {
  std::string list;
  for (const MetricRow& row : kMetricRows) {
    absl::StrAppend(&list, std::string(row.name), "\t", std::string(NameOf(row.type)), "\t",
                    OrDash(std::string(row.unit)), "\t", OrDash(absl::StrJoin(LabelsOf(row), ",")),
                    "\t", OrDash(Bounds(row.buckets)), "\t", std::string(row.help), "\n");
  }
  return list;
}

}  // namespace holdfast::test
