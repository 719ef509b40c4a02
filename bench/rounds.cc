#include "bench/rounds.h"

#include "bench/processor_time.h"
#include "platform/status_macros.h"

#include <algorithm>

namespace holdfast::bench {
namespace {

// The unmeasured round is this much shorter.
constexpr uint64_t kWarmUpShare = 4;

// Seconds of processor time.
struct Spent {
  double client = 0;
  double server = 0;
  double transport = 0;  // the server's part that its named threads took
  double database = 0;
};

Spent SpentBy(const Contender& contender) {
  Spent spent{.client = OwnProcessorSeconds()};
  if (contender.client) spent.client += contender.client->ProcessorSeconds();
  if (contender.process) {
    spent.transport = NamedThreadsSecondsOf(contender.process->pid());
    spent.server = contender.process->ProcessorSeconds();
  }
  if (contender.database) spent.database = contender.database->ProcessorSeconds();
  return spent;
}

// Notes the values of one contender's part of a round.
class Keeper {
 public:
  Keeper(const Contender& contender, size_t round, Results& results, Figures& figures)
      : contender_(contender), round_(round), results_(results), figures_(figures) {}

  void KeepRates(const Round& took) {
    Keep("per_second", took.Rate(), results_.rates);
    Keep("p50_ms", took.p50_ms, results_.p50_ms);
    Keep("p99_ms", took.p99_ms, results_.p99_ms);
  }

  void KeepSpent(const Spent& before, const Spent& after, uint64_t calls) {
    constexpr double kMicroseconds = 1e6;
    const double each = kMicroseconds / static_cast<double>(calls);
    const double client = (after.client - before.client) * each;
    const double server = (after.server - before.server) * each;
    const double transport = (after.transport - before.transport) * each;
    const double database = (after.database - before.database) * each;
    Keep("client_cpu_us", client, results_.client_us);
    if (contender_.process) {
      Keep("transport_cpu_us", transport, results_.transport_us);
      Keep("workers_cpu_us", std::max(0.0, server - transport), results_.workers_us);
      Keep("server_cpu_us", server, results_.server_us);
    }
    if (contender_.database) Keep("database_cpu_us", database, results_.database_us);
    if (contender_.process || contender_.database) {
      Keep("server_and_database_cpu_us", server + database, results_.processor_us);
    }
    Keep("cpu_us", client + server + database, results_.all_us);
  }

 private:
  void Keep(const char* unit, double value, std::vector<double>& values) {
    figures_.Keep(round_, contender_.name, unit, value, values);
  }

  const Contender& contender_;
  const size_t round_;
  Results& results_;
  Figures& figures_;
};

uint64_t CountOf(const Contender& contender, const Match& match) {
  return contender.count > 0 ? contender.count : match.count;
}

}  // namespace

absl::StatusOr<std::map<std::string, Results>> TakeTurns(const std::vector<Contender>& contenders,
                                                         const Match& match, Figures& figures) {
  std::map<std::string, Results> results;
  for (const Contender& contender : contenders) {
    const uint64_t count = CountOf(contender, match) / kWarmUpShare;
    RETURN_IF_ERROR(contender.run(std::max<uint64_t>(1, count)).status());
  }
  for (size_t round = 1; round <= match.rounds; ++round) {
    for (size_t at = 0; at < contenders.size(); ++at) {
      const Contender& contender = contenders[round % 2 == 1 ? at : contenders.size() - 1 - at];
      Keeper keeper(contender, round, results[contender.name], figures);
      const Spent before = SpentBy(contender);
      ASSIGN_OR_RETURN(const Round took, contender.run(CountOf(contender, match)));
      keeper.KeepSpent(before, SpentBy(contender), took.count);
      keeper.KeepRates(took);
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
