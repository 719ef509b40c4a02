// Contenders that take turns: what another process does to one of them it does to all.
#ifndef HOLDFAST_BENCH_ROUNDS_H_
#define HOLDFAST_BENCH_ROUNDS_H_

#include "bench/child_process.h"
#include "bench/closed_loop.h"
#include "bench/figures.h"
#include "bench/postgres.h"

#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace holdfast::bench {

struct Contender {
  std::string name;
  std::function<absl::StatusOr<Round>(uint64_t count)> run;
  const ChildProcess* process = nullptr;  // whose processor time counts, if any
  const Postgres* database = nullptr;     // the same
};

// What one contender did, round by round.
struct Results {
  std::vector<double> rates;
  std::vector<double> p50_ms;
  std::vector<double> p99_ms;
  std::vector<double> processor_us;  // of its process and its database, per call
  std::vector<double> database_us;   // of its database alone, per call
};

struct Match {
  uint64_t count = 0;  // calls of each contender in each round
  size_t rounds = 0;
};

// Every round of the match, the contenders in turn forwards and backwards, and a shorter one before
// that is not measured. Every round is noted.
absl::StatusOr<std::map<std::string, Results>> TakeTurns(const std::vector<Contender>& contenders,
                                                         const Match& match, Figures& figures);

// The median of `a / b`, round by round.
double MedianRatio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace holdfast::bench

#endif  // HOLDFAST_BENCH_ROUNDS_H_
