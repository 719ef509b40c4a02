#include "tests/postgres/plan_log.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <map>
#include <regex>
#include <sstream>

namespace holdfast::test {
namespace {

constexpr std::string_view kExecute = "execute ";
constexpr std::string_view kCondition = "Index Cond: ";
constexpr std::string_view kQuery = "\tQuery Text: ";

double NumberIn(const std::ssub_match& match) {
  double number = 0;
  return absl::SimpleAtod(match.str(), &number) ? number : 0;
}

// Fills in what a line of a plan says.
void AddLine(const std::string& line, Plan& plan) {
  static const std::regex kScan(R"((Seq Scan|Index (?:Only )?Scan (?:Backward )?using (\w+)|)"
                                R"(Bitmap Heap Scan|Tid Scan|Tid Range Scan) on (\w+))");
  static const std::regex kBitmap(R"(Bitmap Index Scan on (\w+))");
  static const std::regex kActual(R"(\(actual rows=(\d+) loops=(\d+)\))");
  static const std::regex kRemoved(R"(Rows Removed by (?:Filter|Index Recheck): (\d+))");
  absl::StrAppend(&plan.text, line, "\n");
  if (line.starts_with(kQuery)) plan.query = line.substr(kQuery.size());
  std::smatch node;
  std::smatch found;
  const bool is_node =
      absl::StrContains(line, "(actual rows=") && std::regex_search(line, node, kActual);
  const bool is_scan = is_node && std::regex_search(line, found, kScan);
  if (is_scan && found[3] == "clock") {  // of the tests' own time
    plan.in_scan = false;
  } else if (is_scan) {
    plan.scans.push_back({.table = found[3],
                          .index = found[2],
                          .sequential = found[1] == "Seq Scan",
                          .loops = NumberIn(node[2]),
                          .rows = NumberIn(node[1]) * NumberIn(node[2])});
    plan.in_scan = true;
  } else if (is_node && std::regex_search(line, found, kBitmap) && plan.in_scan) {
    plan.scans.back().index = found[1];
  } else if (is_node || absl::StrContains(line, "(never executed)")) {
    plan.in_scan = false;
  } else if (plan.in_scan && line.find(kCondition) != std::string::npos) {
    plan.scans.back().condition = line.substr(line.find(kCondition) + kCondition.size());
  } else if (plan.in_scan && absl::StrContains(line, "Rows Removed by") &&
             std::regex_search(line, found, kRemoved)) {
    plan.scans.back().removed += NumberIn(found[1]) * plan.scans.back().loops;
  }
}

}  // namespace

std::vector<std::string> PlanLogSettings() {
  return {"shared_preload_libraries=auto_explain",
          "auto_explain.log_min_duration=0",
          "auto_explain.log_analyze=on",
          "auto_explain.log_timing=off",
          "auto_explain.log_nested_statements=on",
          "log_statement=all",
          "log_parameter_max_length=0",
          "log_line_prefix=[%p] ",
          "fsync=off",
          "autovacuum=off"};
}

double Plan::Read() const {
  double read = 0;
  for (const Scan& scan : scans) read += scan.rows + scan.removed;
  return read;
}

// A statement's name is logged before it is carried out, and its plans behind that, by the process
// that does both.
std::vector<Plan> ReadPlans(std::string_view log) {
  constexpr std::string_view kEntry = "] LOG:  ";
  std::map<std::string, std::string> statement_of;
  std::vector<Plan> plans;
  bool in_plan = false;
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('\t')) {
      if (in_plan) AddLine(line, plans.back());
      continue;
    }
    in_plan = false;
    const size_t entry = line.find(kEntry);
    if (!line.starts_with('[') || entry == std::string::npos) continue;
    const std::string process = line.substr(1, entry - 1);
    const std::string text = line.substr(entry + kEntry.size());
    if (text.starts_with(kExecute)) {
      statement_of[process] = text.substr(kExecute.size(), text.find(':') - kExecute.size());
    } else if (text.starts_with("statement: ")) {
      statement_of[process] = "";
    } else if (text.ends_with("plan:")) {
      in_plan = true;
      plans.push_back({.statement = statement_of[process]});
    }
  }
  return plans;
}

}  // namespace holdfast::test
