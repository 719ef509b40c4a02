// checker: how fast recorded histories are checked (tests/history). No server takes part.
#include "tests/history/checker.h"

#include "bench/benches.h"
#include "tests/history/simulation.h"

#include "absl/status/status.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kOperations = 1'000'000;
constexpr size_t kSmokeOperations = 50'000;
constexpr Goal kPerSecond = AtLeast(1'000'000);
constexpr uint32_t kSessions = 64;
constexpr std::array<uint32_t, 3> kClients = {4, 16, 64};

}  // namespace

// The slowest number of clients is the figure. What the processor alone would allow is printed too:
// other work on the machine does not count in it.
absl::Status BenchChecker(const Plan& plan, Figures& figures) {
  double slowest = 0;
  for (const uint32_t clients : kClients) {
    const history::History recorded =
        history::Simulate({.clients = clients,
                           .sessions = kSessions,
                           .operations = plan.Many(kOperations, kSmokeOperations),
                           .seed = clients});
    const std::string name = "clients." + std::to_string(clients);
    const auto operations = static_cast<double>(recorded.operations.size());
    std::vector<double> rates;
    std::vector<double> processor_rates;
    for (size_t round = 1; round <= plan.rounds; ++round) {
      const std::clock_t processor = std::clock();
      const auto begin = std::chrono::steady_clock::now();
      const history::Complaints complaints = history::Check(recorded);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (!complaints.empty()) {
        return absl::InternalError("a clean history was complained of:\n" +
                                   history::ToText(complaints, 1));
      }
      rates.push_back(operations / took.count());
      const auto ticks = static_cast<double>(std::clock() - processor);
      processor_rates.push_back(operations * CLOCKS_PER_SEC / ticks);
      figures.Note(round, name, "operations_per_second", rates.back());
      figures.Note(round, name, "operations_per_processor_second", processor_rates.back());
    }
    const double rate = Median(rates);
    figures.Print(name, rate);
    figures.Print(name + ".of-processor", Median(processor_rates));
    slowest = slowest == 0 ? rate : std::min(slowest, rate);
  }
  figures.Print("operations-per-second", slowest, kPerSecond);
  return absl::OkStatus();
}

}  // namespace holdfast::bench
