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
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

struct Contender {
  std::string name;
  std::function<absl::StatusOr<Round>(uint64_t count)> run;
  const ChildProcess* process = nullptr;  // the server, if there is one
  const Postgres* database = nullptr;     // the same
  const ChildProcess* client = nullptr;   // a client beside this process, if there is one
  uint64_t count = 0;                     // calls in each round; 0: as many as the match says
};

// Slots whose calls one server takes. Both must outlive it.
template <typename T>
Contender Calls(std::string name, const std::vector<std::unique_ptr<T>>& slots,
                const ChildProcess& process, uint64_t count) {
  return {.name = std::move(name),
          .run = [all = SlotsOf(slots)](uint64_t calls) { return Drive(all, calls); },
          .process = &process,
          .count = count};
}

// What one contender did, round by round. Processor time is in microseconds per call.
struct Results {
  std::vector<double> rates;
  std::vector<double> p50_ms;
  std::vector<double> p99_ms;
  std::vector<double> client_us;     // of this process, its ended children and the other client
  std::vector<double> transport_us;  // of the server's threads that are gRPC's; empty without one
  std::vector<double> workers_us;    // of the server's other threads; the same
  std::vector<double> server_us;     // of both; the same
  std::vector<double> database_us;   // of all processes of the database; empty without one
  std::vector<double> processor_us;  // of server and database; empty without either
  std::vector<double> all_us;        // of client, server and database
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
