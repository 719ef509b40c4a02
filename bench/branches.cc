// branch-fs, branch-pg: restores against CommitTurn, and restores of a long history against those
// of a short one.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/postgres.h"
#include "bench/restorer.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "bench/timing.h"
#include "platform/status_macros.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr std::array<size_t, 2> kRestoresInFlight = {1, 32};
constexpr uint64_t kRestoresAlone = 600;  // of a round
constexpr uint64_t kRestoresTogether = 6400;
constexpr uint64_t kRestoresSmokeShare = 16;

constexpr uint64_t kShortHistory = 10;
constexpr uint64_t kLongHistory = 10'000;
constexpr uint64_t kSmokeHistory = 500;
constexpr size_t kRestores = 300;  // of a round
constexpr Goal kAnyLength = AtMost(1.2);

constexpr size_t kAlternations = 10'000;
constexpr size_t kSmokeAlternations = 300;
constexpr size_t kComparedAlternations = 100;
constexpr Goal kAnyNumber = AtMost(1.5);

absl::Status CompareRates(const Plan& plan, Figures& figures, Served& served, size_t in_flight) {
  const std::string level = absl::StrCat(".", in_flight);
  const uint64_t all = in_flight == 1 ? kRestoresAlone : kRestoresTogether;
  const uint64_t calls = plan.Many(all, all / kRestoresSmokeShare);
  ASSIGN_OR_RETURN(const auto agents, MakeAgents(served, "agent" + level, in_flight));
  ASSIGN_OR_RETURN(const auto restorers, MakeRestorers(served, "restorer" + level, in_flight));
  const ChildProcess& process = served.process();
  ASSIGN_OR_RETURN(const auto results,
                   TakeTurns({Calls("commit" + level, agents, process, calls),
                              Calls("restore" + level, restorers, process, calls)},
                             {.count = calls, .rounds = plan.rounds}, figures));
  figures.Print("restore-over-commit" + level, MedianRatio(results.at("restore" + level).rates,
                                                           results.at("commit" + level).rates));
  for (const auto& restorer : restorers) RETURN_IF_ERROR(restorer->Count());
  return absl::OkStatus();
}

absl::Status CompareLengths(const Plan& plan, Figures& figures, Served& served) {
  ASSIGN_OR_RETURN(const auto few, Restorer::Make(served, "short", kShortHistory));
  ASSIGN_OR_RETURN(const auto many,
                   Restorer::Make(served, "long", plan.Many(kLongHistory, kSmokeHistory)));
  std::vector<double> with_few;
  std::vector<double> with_many;
  for (size_t round = 1; round <= plan.rounds; ++round) {
    ASSIGN_OR_RETURN(const double few_ms,
                     MedianMilliseconds(kRestores, [&] { return few->Replace(); }));
    ASSIGN_OR_RETURN(const double many_ms,
                     MedianMilliseconds(kRestores, [&] { return many->Replace(); }));
    figures.Keep(round, "restore-short", "ms", few_ms, with_few);
    figures.Keep(round, "restore-long", "ms", many_ms, with_many);
  }
  figures.Print("restore-long-over-short", MedianRatio(with_many, with_few), kAnyLength);
  figures.Print("restore-long-ms", Median(with_many));
  RETURN_IF_ERROR(few->Count());
  return many->Count();
}

// A client that takes the last message and adds another, again and again.
absl::Status CompareAlternations(const Plan& plan, Figures& figures, Served& served) {
  ASSIGN_OR_RETURN(const auto client,
                   Restorer::Make(served, "alternating", plan.Many(kLongHistory, kSmokeHistory)));
  const size_t times = plan.Many(kAlternations, kSmokeAlternations);
  ASSIGN_OR_RETURN(const std::vector<double> took,
                   Milliseconds(times, [&] { return client->TakeAndAdd(); }));
  const auto compared = static_cast<ptrdiff_t>(kComparedAlternations);
  const double first = Median({took.begin(), took.begin() + compared});
  const double last = Median({took.end() - compared, took.end()});
  figures.Print("alternation-last-over-first", last / first, kAnyNumber);
  figures.Print("alternation-last-ms", last);
  return client->Count();
}

absl::Status MeasureRestores(const Plan& plan, Figures& figures, Served& served) {
  RETURN_IF_ERROR(served.Start());
  for (const size_t in_flight : kRestoresInFlight) {
    RETURN_IF_ERROR(CompareRates(plan, figures, served, in_flight));
  }
  RETURN_IF_ERROR(CompareLengths(plan, figures, served));
  return CompareAlternations(plan, figures, served);
}

}  // namespace

absl::Status BenchBranchFs(const Plan& plan, Figures& figures) {
  Served served(plan.holdfastd, plan.directory);
  return MeasureRestores(plan, figures, served);
}

absl::Status BenchBranchPg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  Served served(plan.holdfastd, plan.directory, Keeping::In(database->dsn("store")));
  return MeasureRestores(plan, figures, served);
}

}  // namespace holdfast::bench
