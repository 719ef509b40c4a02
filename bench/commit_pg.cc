// commit-pg: CommitTurn over PostgreSQL against single inserts of the same bytes, against itself
// without group commit, and against itself with a short history.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/pgbench.h"
#include "bench/postgres.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "bench/threads.h"
#include "session/status_macros.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

// Of the goals that have one number of calls in flight.
constexpr size_t kMain = 32;

struct Level {
  size_t in_flight;
  uint64_t count;  // of a round
  std::optional<Goal> goal;
};
const std::array<Level, 4> kLevels = {{{.in_flight = 1, .count = 1024, .goal = std::nullopt},
                                       {.in_flight = 8, .count = 6144, .goal = AtLeast(0.9)},
                                       {.in_flight = kMain, .count = 8192, .goal = AtLeast(1.1)},
                                       {.in_flight = 64, .count = 8192, .goal = AtLeast(1.4)}}};
constexpr uint64_t kSmokeShare = 8;
constexpr Goal kBehindPgbench = AtMost(0.3);  // ms
constexpr Goal kOfUngrouped = AtMost(0.35);
constexpr Goal kLongTime = AtMost(1.1);
constexpr Goal kLongLog = AtMost(1.05);
// One history is long and the other ones stay short.
constexpr uint64_t kLongHistory = 10'000;
constexpr uint64_t kSmokeLongHistory = 300;
constexpr uint64_t kShortHistory = 10;
constexpr size_t kShorts = 16;             // sessions, which take turns
constexpr uint64_t kHistoryCommits = 320;  // of a round
// 8 KB with one message, so that so many commits make so many messages.
const CommitShape kOneMessage = {.messages = 1, .message_bytes = 2048, .slots = {4096, 2048}};

using Agents = std::vector<std::unique_ptr<Agent>>;

absl::Status CountAll(const Agents& agents) {
  for (const auto& agent : agents) RETURN_IF_ERROR(agent->Count());
  return absl::OkStatus();
}

class CommitPg {
 public:
  CommitPg(const Plan& plan, Figures& figures, Postgres& database)
      : plan_(plan),
        figures_(figures),
        database_(database),
        served_(plan.holdfastd, plan.directory + "/grouped", Keeping::In(database.dsn("store"))),
        ungrouped_(plan.holdfastd, plan.directory + "/ungrouped",
                   Keeping::In(database.dsn("store"), 1)),
        pgbench_(database, "raw", kPayload) {}

  absl::Status Run() {
    RETURN_IF_ERROR(pgbench_.Open());
    // As pgbench reaches the database.
    served_.ServeAtFile();
    ungrouped_.ServeAtFile();
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(ungrouped_.Start());
    for (const Level& level : kLevels) RETURN_IF_ERROR(RunLevel(level));
    RETURN_IF_ERROR(RunHistories());
    RETURN_IF_ERROR(Count());
    Print();
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<const Agents*> MakeSessions(Served& served, const std::string& prefix,
                                             size_t count) {
    ASSIGN_OR_RETURN(Agents agents, MakeAgents(served, prefix, count));
    return &agents_.emplace_back(std::move(agents));
  }

  Contender Commits(std::string name, const Served& served, const Agents& agents) const {
    return {.name = std::move(name),
            .run = [slots = SlotsOf(agents)](uint64_t count) { return Drive(slots, count); },
            .process = &served.process(),
            .database = &database_};
  }

  absl::Status RunLevel(const Level& level) {
    const size_t width = level.in_flight;
    const std::string suffix = "." + std::to_string(width);
    ASSIGN_OR_RETURN(const Agents* agents, MakeSessions(served_, "grouped" + suffix, width));
    std::vector<std::unique_ptr<RawInsert>> inserters;
    for (size_t at = 0; at < width; ++at) {
      ASSIGN_OR_RETURN(auto inserter, RawInsert::Make(database_, kPayload));
      inserters.push_back(std::move(inserter));
    }
    std::vector<Contender> contenders = {
        {.name = "pgbench" + suffix,
         .run = [this, width](uint64_t count) { return pgbench_.Insert(width, count); },
         .database = &database_},
        {.name = "libpq" + suffix,
         .run =
             [this, &inserters](uint64_t count) {
               pgbench_.Note(count);
               return CommitInThreads(inserters, count);
             },
         .database = &database_},
        Commits("commit" + suffix, served_, *agents)};
    if (width == kMain) {
      ASSIGN_OR_RETURN(const Agents* alone, MakeSessions(ungrouped_, "ungrouped", width));
      contenders.push_back(Commits("ungrouped" + suffix, ungrouped_, *alone));
    }
    RETURN_IF_ERROR(database_.Checkpoint());
    ASSIGN_OR_RETURN(auto results,
                     TakeTurns(contenders,
                               {.count = plan_.Many(level.count, level.count / kSmokeShare),
                                .rounds = plan_.rounds},
                               figures_));
    results_.merge(results);
    return absl::OkStatus();
  }

  // What one commit takes, one at a time, with a long history and with short ones.
  absl::Status RunHistories() {
    ASSIGN_OR_RETURN(auto longest, Agent::Make(served_, "long", kOneMessage));
    const Agents* const long_one = &agents_.emplace_back();
    agents_.back().push_back(std::move(longest));
    RETURN_IF_ERROR(
        Drive(SlotsOf(*long_one), plan_.Many(kLongHistory, kSmokeLongHistory)).status());
    for (size_t round = 1; round <= plan_.rounds; ++round) {
      Agents shorts;
      for (size_t at = 0; at < kShorts; ++at) {
        const std::string id = "short-" + std::to_string(round) + "-" + std::to_string(at);
        ASSIGN_OR_RETURN(auto agent, Agent::Make(served_, id, kOneMessage));
        RETURN_IF_ERROR(Drive({agent.get()}, kShortHistory).status());
        shorts.push_back(std::move(agent));
      }
      const bool long_first = round % 2 == 1;
      if (long_first) RETURN_IF_ERROR(CommitInTurns(round, "long", *long_one));
      RETURN_IF_ERROR(CommitInTurns(round, "short", shorts));
      if (!long_first) RETURN_IF_ERROR(CommitInTurns(round, "long", *long_one));
      RETURN_IF_ERROR(CountAll(shorts));
    }
    return absl::OkStatus();
  }

  absl::Status CommitInTurns(size_t round, const std::string& name, const Agents& agents) {
    const uint64_t each = kHistoryCommits / agents.size();
    ASSIGN_OR_RETURN(const int64_t before, LogPosition());
    double spent = 0;
    for (const auto& agent : agents) {
      ASSIGN_OR_RETURN(const Round took, Drive({agent.get()}, each));
      spent += took.p50_ms;
    }
    ASSIGN_OR_RETURN(const int64_t after, LogPosition());
    const double ms = spent / static_cast<double>(agents.size());
    const double bytes = static_cast<double>(after - before) / static_cast<double>(kHistoryCommits);
    figures_.Keep(round, name + "-history", "p50_ms", ms, times_[name]);
    figures_.Keep(round, name + "-history", "wal_bytes", bytes, logs_[name]);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> LogPosition() {
    return database_.Number("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint");
  }

  // Everything acknowledged must be there after everything was killed.
  absl::Status Count() {
    served_.End(SIGKILL);
    ungrouped_.End(SIGKILL);
    RETURN_IF_ERROR(database_.Crash());
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(ungrouped_.Start());
    for (const Agents& agents : agents_) RETURN_IF_ERROR(CountAll(agents));
    return pgbench_.Count();
  }

  const Results& Of(const std::string& name, size_t width) const {
    return results_.at(name + "." + std::to_string(width));
  }

  void Print() {
    for (const Level& level : kLevels) {
      figures_.Print(
          "commit-over-pgbench." + std::to_string(level.in_flight),
          MedianRatio(Of("commit", level.in_flight).rates, Of("pgbench", level.in_flight).rates),
          level.goal);
    }
    figures_.Print("p50-behind-pgbench-ms.1",
                   Median(Of("commit", 1).p50_ms) - Median(Of("pgbench", 1).p50_ms),
                   kBehindPgbench);
    figures_.Print(
        "cpu-over-ungrouped.32",
        MedianRatio(Of("commit", kMain).processor_us, Of("ungrouped", kMain).processor_us),
        kOfUngrouped);
    figures_.Print("commit-over-ungrouped.32",
                   MedianRatio(Of("commit", kMain).rates, Of("ungrouped", kMain).rates));
    figures_.Print("long-over-short-time", MedianRatio(times_["long"], times_["short"]), kLongTime);
    figures_.Print("long-over-short-wal", MedianRatio(logs_["long"], logs_["short"]), kLongLog);
    figures_.Print("wal-bytes-per-commit", Median(logs_["long"]));
    for (const auto& [name, results] : results_) PrintAbsolute(name, results);
  }

  void PrintAbsolute(const std::string& name, const Results& results) {
    figures_.Print(name + "-per-second", Median(results.rates));
    figures_.Print(name + "-p50-ms", Median(results.p50_ms));
    figures_.Print(name + "-p99-ms", Median(results.p99_ms));
    figures_.Print(name + "-cpu-us", Median(results.processor_us));
    figures_.Print(name + "-database-cpu-us", Median(results.database_us));
  }

  const Plan& plan_;
  Figures& figures_;
  Postgres& database_;
  Served served_;
  Served ungrouped_;
  Pgbench pgbench_;
  std::deque<Agents> agents_;
  std::map<std::string, Results> results_;
  std::map<std::string, std::vector<double>> times_;
  std::map<std::string, std::vector<double>> logs_;
};

}  // namespace

absl::Status BenchCommitPg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  return CommitPg(plan, figures, *database).Run();
}

}  // namespace holdfast::bench
