#include "bench/rounds.h"

#include "session/status_macros.h"

#include <algorithm>

namespace holdfast::bench {
namespace {

// The unmeasured round is this much shorter.
constexpr uint64_t kWarmUpShare = 4;

// One contender's part of a round.
void Keep(const Contender& contender, const Round& took, size_t round, Results& results,
          Figures& figures) {
  figures.Keep(round, contender.name, "per_second", took.Rate(), results.rates);
  figures.Keep(round, contender.name, "p50_ms", took.p50_ms, results.p50_ms);
  figures.Keep(round, contender.name, "p99_ms", took.p99_ms, results.p99_ms);
}

struct Spent {
  double process = 0;  // seconds of processor time
  double database = 0;
};

Spent SpentBy(const Contender& contender) {
  return {.process = contender.process ? contender.process->ProcessorSeconds() : 0,
          .database = contender.database ? contender.database->ProcessorSeconds() : 0};
}

// The processor time of one contender's part of a round, if it has any.
void KeepSpent(const Contender& contender, const Spent& before, const Round& took, size_t round,
               Results& results, Figures& figures) {
  if (!contender.process && !contender.database) return;
  constexpr double kMicroseconds = 1e6;
  const Spent after = SpentBy(contender);
  const double each = kMicroseconds / static_cast<double>(took.count);
  const double process = (after.process - before.process) * each;
  const double database = (after.database - before.database) * each;
  figures.Keep(round, contender.name, "cpu_us", process + database, results.processor_us);
  if (contender.database) {
    figures.Keep(round, contender.name, "database_cpu_us", database, results.database_us);
  }
}

}  // namespace

absl::StatusOr<std::map<std::string, Results>> TakeTurns(const std::vector<Contender>& contenders,
                                                         const Match& match, Figures& figures) {
  std::map<std::string, Results> results;
  for (const Contender& contender : contenders) {
    RETURN_IF_ERROR(contender.run(std::max<uint64_t>(1, match.count / kWarmUpShare)).status());
  }
  for (size_t round = 1; round <= match.rounds; ++round) {
    for (size_t at = 0; at < contenders.size(); ++at) {
      const Contender& contender = contenders[round % 2 == 1 ? at : contenders.size() - 1 - at];
      Results& kept = results[contender.name];
      const Spent before = SpentBy(contender);
      ASSIGN_OR_RETURN(const Round took, contender.run(match.count));
      KeepSpent(contender, before, took, round, kept, figures);
      Keep(contender, took, round, kept, figures);
    }
  }
  return results;
}

double MedianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t at = 0; at < std::min(a.size(), b.size()); ++at) ratios.push_back(a[at] / b[at]);
  return Median(ratios);
}

}  // namespace holdfast::bench
