#include "bench/costs.h"

#include "absl/strings/str_format.h"

#include <array>
#include <string_view>
#include <vector>

namespace holdfast::bench {
namespace {

struct Part {
  std::string_view label;
  std::string_view suffix;
  std::vector<double> Results::*microseconds;
};
constexpr std::array<Part, 6> kParts = {
    {{.label = "all", .suffix = "-cpu", .microseconds = &Results::all_us},
     {.label = "client", .suffix = "-client-cpu", .microseconds = &Results::client_us},
     {.label = "transport", .suffix = "-transport-cpu", .microseconds = &Results::transport_us},
     {.label = "workers", .suffix = "-workers-cpu", .microseconds = &Results::workers_us},
     {.label = "server", .suffix = "-server-cpu", .microseconds = &Results::server_us},
     {.label = "database", .suffix = "-database-cpu", .microseconds = &Results::database_us}}};

}  // namespace

void PrintCosts(Figures& figures, const std::string& name, const Results& results,
                const Results* echo) {
  figures.Print(name + "-per-second", Median(results.rates));
  figures.Print(name + "-p50-ms", Median(results.p50_ms));
  figures.Print(name + "-p99-ms", Median(results.p99_ms));
  std::string line = absl::StrFormat("%s: %.0f/s, us of processor time per call%s", name,
                                     Median(results.rates), echo ? " (Echoes)" : "");
  for (const Part& part : kParts) {
    const std::vector<double>& spent = results.*part.microseconds;
    if (spent.empty()) continue;
    const std::string what = name + std::string(part.suffix);
    figures.Print(what + "-us", Median(spent));
    absl::StrAppendFormat(&line, " %s %.0f", part.label, Median(spent));
    if (echo == nullptr) continue;
    const double echoes = MedianRatio(spent, echo->all_us);
    figures.Print(what + "-echoes", echoes);
    absl::StrAppendFormat(&line, " (%.2f)", echoes);
  }
  figures.Remark(line);
}

}  // namespace holdfast::bench
