// commit-pg: CommitTurn over PostgreSQL against single inserts of the same bytes, against a call
// that does nothing, against itself without group commit, and against itself with a short history.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/costs.h"
#include "bench/echo.h"
#include "bench/pgbench.h"
#include "bench/postgres.h"
#include "bench/raw_insert.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "bench/threads.h"
#include "platform/status_macros.h"

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
  std::optional<Goal> over_pgbench = std::nullopt;
  std::optional<Goal> database_cpu = std::nullopt;  // over that of libpq
};
const std::array<Level, 4> kLevels = {
    {{.in_flight = 1, .count = 1024},
     {.in_flight = 8, .count = 6144, .over_pgbench = AtLeast(0.5, 0.7)},
     {.in_flight = kMain,
      .count = 8192,
      .over_pgbench = AtLeast(0.85, 1.2),
      .database_cpu = AtMost(0.6, 0.45)},
     {.in_flight = 64,
      .count = 8192,
      .over_pgbench = AtLeast(1.05, 1.4),
      .database_cpu = AtMost(0.5, 0.35)}}};
constexpr uint64_t kSmokeShare = 8;
constexpr Goal kServerCpu = AtMost(1.9, 1.5);      // over that of Echo's server
constexpr Goal kAllCpu = AtMost(2.6, 2.0);         // over that of Echo
constexpr Goal kBehindPgbench = AtMost(0.5, 0.3);  // ms
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
        pgbench_(database, "raw", kPayload),
        keyed_(database) {}

  absl::Status Run() {
    RETURN_IF_ERROR(pgbench_.Open());
    RETURN_IF_ERROR(keyed_.Open());
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

  // Of the opponents that stay connected, so many of each.
  struct Inserters {
    std::vector<std::unique_ptr<RawInsert>> raw;
    std::vector<std::unique_ptr<KeyedInsert>> keyed;
  };
  absl::StatusOr<Inserters> MakeInserters(const std::string& suffix, size_t count) {
    Inserters made;
    for (size_t at = 0; at < count; ++at) {
      ASSIGN_OR_RETURN(auto raw, RawInsert::Make(database_, kPayload));
      made.raw.push_back(std::move(raw));
      const std::string session = "raw" + suffix + "-" + std::to_string(at);
      ASSIGN_OR_RETURN(auto keyed, keyed_.Make(session, kPayload));
      made.keyed.push_back(std::move(keyed));
    }
    return made;
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
    ASSIGN_OR_RETURN(const Inserters inserters, MakeInserters(suffix, width));
    std::vector<Contender> contenders = {
        EmptyEcho("echo" + suffix, served_, width),
        {.name = "pgbench" + suffix,
         .run = [this, width](uint64_t count) { return pgbench_.Insert(width, count); },
         .database = &database_},
        {.name = "libpq" + suffix,
         .run =
             [this, &inserters](uint64_t count) {
               pgbench_.Note(count);
               return CommitInThreads(inserters.raw, count);
             },
         .database = &database_},
        {.name = "libpq-keyed" + suffix,
         .run = [this,
                 &inserters](uint64_t count) { return keyed_.Insert(inserters.keyed, count); },
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
    RETURN_IF_ERROR(keyed_.Count());
    return pgbench_.Count();
  }

  const Results& Of(const std::string& name, size_t width) const {
    return results_.at(name + "." + std::to_string(width));
  }

  // What `values` of one contender are, round by round, over those of another one.
  double Over(const std::string& name, const std::string& other, size_t width,
              std::vector<double> Results::*values) const {
    return MedianRatio(Of(name, width).*values, Of(other, width).*values);
  }

  void Print() {
    PrintProcessorTime();
    for (const Level& level : kLevels) {
      const size_t width = level.in_flight;
      const std::string at = "." + std::to_string(width);
      figures_.Print("commit-over-pgbench" + at, Over("commit", "pgbench", width, &Results::rates),
                     level.over_pgbench);
      for (const std::string other : {"libpq", "libpq-keyed"}) {
        figures_.Print("commit-over-" + other + at, Over("commit", other, width, &Results::rates));
      }
    }
    figures_.Print("p50-behind-pgbench-ms.1",
                   Median(Of("commit", 1).p50_ms) - Median(Of("pgbench", 1).p50_ms),
                   kBehindPgbench);
    figures_.Print("cpu-over-ungrouped.32",
                   Over("commit", "ungrouped", kMain, &Results::processor_us), kOfUngrouped);
    figures_.Print("commit-over-ungrouped.32", Over("commit", "ungrouped", kMain, &Results::rates));
    figures_.Print("long-over-short-time", MedianRatio(times_["long"], times_["short"]), kLongTime);
    figures_.Print("long-over-short-wal", MedianRatio(logs_["long"], logs_["short"]), kLongLog);
    figures_.Print("wal-bytes-per-commit", Median(logs_["long"]));
    for (const auto& [name, results] : results_) {
      const Results& echo = results_.at("echo" + name.substr(name.find('.')));
      PrintCosts(figures_, name, results, &echo);
    }
  }

  void PrintProcessorTime() {
    for (const Level& level : kLevels) {
      const size_t width = level.in_flight;
      const std::string at = "." + std::to_string(width);
      figures_.Print("database-cpu-over-libpq" + at,
                     Over("commit", "libpq", width, &Results::database_us), level.database_cpu);
      for (const std::string other : {"libpq-keyed", "pgbench"}) {
        figures_.Print("database-cpu-over-" + other + at,
                       Over("commit", other, width, &Results::database_us));
      }
      const bool has_goal = width == kMain;
      figures_.Print("server-cpu-over-echo" + at,
                     Over("commit", "echo", width, &Results::server_us),
                     has_goal ? std::optional(kServerCpu) : std::nullopt);
      figures_.Print("cpu-over-echo" + at, Over("commit", "echo", width, &Results::all_us),
                     has_goal ? std::optional(kAllCpu) : std::nullopt);
    }
  }

  const Plan& plan_;
  Figures& figures_;
  Postgres& database_;
  Served served_;
  Served ungrouped_;
  Pgbench pgbench_;
  KeyedTable keyed_;
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
