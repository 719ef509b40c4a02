// scale-pg: two servers of one database, half of the calls each, against one server with all calls.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/postgres.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "platform/status_macros.h"

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kInFlight = 64;
constexpr uint64_t kCount = 8192;  // of a round
constexpr uint64_t kSmokeCount = 1024;
constexpr Goal kNoLoss = AtLeast(0.95);

using Agents = std::vector<std::unique_ptr<Agent>>;

class ScalePg {
 public:
  ScalePg(const Plan& plan, Figures& figures, Postgres& database)
      : plan_(plan),
        figures_(figures),
        database_(database),
        first_(plan.holdfastd, plan.directory + "/first", Keeping::In(database.dsn("store"))),
        second_(plan.holdfastd, plan.directory + "/second", Keeping::In(database.dsn("store"))) {}

  absl::Status Run() {
    RETURN_IF_ERROR(first_.Start());
    RETURN_IF_ERROR(second_.Start());
    ASSIGN_OR_RETURN(const Agents alone, MakeAgents(first_, "alone", kInFlight));
    ASSIGN_OR_RETURN(const Agents half, MakeAgents(first_, "half", kInFlight / 2));
    ASSIGN_OR_RETURN(const Agents other, MakeAgents(second_, "other", kInFlight / 2));
    const std::vector<Contender> contenders = {Calls("one-server", {&alone}),
                                               Calls("two-servers", {&half, &other})};
    RETURN_IF_ERROR(database_.Checkpoint());
    ASSIGN_OR_RETURN(
        const auto results,
        TakeTurns(contenders, {.count = plan_.Many(kCount, kSmokeCount), .rounds = plan_.rounds},
                  figures_));
    RETURN_IF_ERROR(Count({&alone, &half, &other}));
    const Results& one = results.at("one-server");
    const Results& two = results.at("two-servers");
    figures_.Print("two-servers-over-one.64", MedianRatio(two.rates, one.rates), kNoLoss);
    figures_.Print("one-server-per-second", Median(one.rates));
    figures_.Print("two-servers-per-second", Median(two.rates));
    figures_.Print("one-server-database-cpu-us", Median(one.database_us));
    figures_.Print("two-servers-database-cpu-us", Median(two.database_us));
    return absl::OkStatus();
  }

 private:
  Contender Calls(std::string name, const std::vector<const Agents*>& groups) const {
    std::vector<Slot*> slots;
    for (const Agents* agents : groups) {
      for (const auto& agent : *agents) slots.push_back(agent.get());
    }
    return {.name = std::move(name),
            .run = [slots = std::move(slots)](uint64_t count) { return Drive(slots, count); },
            .database = &database_};
  }

  // Everything acknowledged must be there after everything was killed.
  absl::Status Count(const std::vector<const Agents*>& groups) {
    first_.End(SIGKILL);
    second_.End(SIGKILL);
    RETURN_IF_ERROR(database_.Crash());
    RETURN_IF_ERROR(first_.Start());
    RETURN_IF_ERROR(second_.Start());
    for (const Agents* agents : groups) {
      for (const auto& agent : *agents) RETURN_IF_ERROR(agent->Count());
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  Figures& figures_;
  Postgres& database_;
  Served first_;
  Served second_;
};

}  // namespace

absl::Status BenchScalePg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  return ScalePg(plan, figures, *database).Run();
}

}  // namespace holdfast::bench
