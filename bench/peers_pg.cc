// peers-pg: CommitTurn and AppendJournal over PostgreSQL against what others offer to keep an
// agent's state: LangGraph's PostgresSaver in the same PostgreSQL, and etcd on the same disk.
#include "bench/agent.h"
#include "bench/appender.h"
#include "bench/benches.h"
#include "bench/etcd.h"
#include "bench/langgraph.h"
#include "bench/postgres.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "session/status_macros.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kMain = 32;

struct Level {
  size_t in_flight;
  Goal over_langgraph;
};
constexpr std::array<Level, 3> kLevels = {{{.in_flight = 8, .over_langgraph = AtLeast(6)},
                                           {.in_flight = kMain, .over_langgraph = AtLeast(10)},
                                           {.in_flight = 64, .over_langgraph = AtLeast(10)}}};
// Of a round. A slow one makes fewer calls in about the same time.
constexpr uint64_t kCommits = 6144;
constexpr uint64_t kPuts = 1024;
constexpr uint64_t kSmokeShare = 8;
constexpr size_t kEntryBytes = 1024;
constexpr Goal kAppendOverWrites = AtLeast(10);
constexpr uint64_t kMessages = 10'000;
constexpr uint64_t kSmokeMessages = 200;
constexpr size_t kMessageBytes = 1024;
constexpr uint64_t kLongCommits = 256;
constexpr uint64_t kLists = 3;
constexpr Goal kOverList = AtLeast(1000);
constexpr Goal kOverEtcd = AtLeast(1.2);

using Agents = std::vector<std::unique_ptr<Agent>>;

class PeersPg {
 public:
  PeersPg(const Plan& plan, Figures& figures, Postgres& database)
      : plan_(plan),
        figures_(figures),
        database_(database),
        served_(plan.holdfastd, plan.directory + "/server", Keeping::In(database.dsn("store"))) {}

  absl::Status Run() {
    served_.ServeAtFile();  // as both opponents are reached
    RETURN_IF_ERROR(served_.Start());
    ASSIGN_OR_RETURN(langgraph_,
                     LangGraph::Start(database_, plan_.peers, plan_.directory + "/node.log"));
    ASSIGN_OR_RETURN(etcd_,
                     Etcd::Start(database_.directory() + "/etcd", plan_.directory + "/etcd.log"));
    for (const Level& level : kLevels) RETURN_IF_ERROR(RunLevel(level));
    RETURN_IF_ERROR(RunEntries());
    RETURN_IF_ERROR(RunLong());
    RETURN_IF_ERROR(Count());
    PrintAbsolute();
    return absl::OkStatus();
  }

 private:
  using ByName = std::map<std::string, Results>;

  // The same share of every contender's calls.
  uint64_t Of(uint64_t commits, uint64_t all) const { return commits * all / kCommits; }

  absl::StatusOr<ByName> Compete(const std::vector<Contender>& contenders) {
    RETURN_IF_ERROR(database_.Checkpoint());
    ASSIGN_OR_RETURN(
        ByName results,
        TakeTurns(contenders,
                  {.count = plan_.Many(kCommits, kCommits / kSmokeShare), .rounds = plan_.rounds},
                  figures_));
    for (const auto& [name, values] : results) all_[name] = values;
    return results;
  }

  absl::Status RunLevel(const Level& level) {
    const size_t width = level.in_flight;
    const std::string at = "." + std::to_string(width);
    ASSIGN_OR_RETURN(Agents made, MakeAgents(served_, "commit" + at, width));
    const Agents& agents = agents_.emplace_back(std::move(made));
    std::vector<Contender> contenders = {
        {.name = "langgraph-put" + at,
         .run = [this, width](
                    uint64_t count) { return langgraph_->Put(width, Of(count, kPuts), kPayload); },
         .process = &langgraph_->process(),
         .database = &database_},
        {.name = "commit" + at,
         .run = [slots = SlotsOf(agents)](uint64_t count) { return Drive(slots, count); },
         .process = &served_.process(),
         .database = &database_}};
    if (width == kMain) {
      for (size_t key = 0; key < width; ++key) {
        puts_.push_back(
            std::make_unique<PutSlot>(*etcd_, "session-" + std::to_string(key), kPayload));
      }
      contenders.push_back({.name = "etcd-put" + at,
                            .run = [this](uint64_t count) { return Drive(SlotsOf(puts_), count); },
                            .process = &etcd_->process()});
    }
    ASSIGN_OR_RETURN(const ByName results, Compete(contenders));
    const Results& commit = results.at("commit" + at);
    figures_.Print("commit-over-langgraph-put" + at,
                   MedianRatio(commit.rates, results.at("langgraph-put" + at).rates),
                   level.over_langgraph);
    if (width == kMain) {
      figures_.Print("commit-over-etcd-put" + at,
                     MedianRatio(commit.rates, results.at("etcd-put" + at).rates), kOverEtcd);
    }
    return absl::OkStatus();
  }

  absl::Status RunEntries() {
    const std::string at = "." + std::to_string(kMain);
    ASSIGN_OR_RETURN(Agents made, MakeAgents(served_, "append" + at, kMain));
    const Agents& agents = agents_.emplace_back(std::move(made));
    for (const auto& agent : agents) {
      appenders_.push_back(std::make_unique<Appender>(served_, *agent, kEntryBytes));
    }
    ASSIGN_OR_RETURN(
        const ByName results,
        Compete({{.name = "langgraph-put-writes" + at,
                  .run =
                      [this](uint64_t count) {
                        return langgraph_->PutWrites(kMain, Of(count, kPuts), kEntryBytes);
                      },
                  .process = &langgraph_->process(),
                  .database = &database_},
                 {.name = "append" + at,
                  .run = [this](uint64_t count) { return Drive(SlotsOf(appenders_), count); },
                  .process = &served_.process(),
                  .database = &database_}}));
    figures_.Print(
        "append-over-langgraph-put-writes" + at,
        MedianRatio(results.at("append" + at).rates, results.at("langgraph-put-writes" + at).rates),
        kAppendOverWrites);
    return absl::OkStatus();
  }

  // One conversation of many messages, and one call at a time.
  absl::Status RunLong() {
    const uint64_t messages = plan_.Many(kMessages, kSmokeMessages);
    const CommitShape shape{.messages = 1, .message_bytes = kMessageBytes, .slots = {}};
    ASSIGN_OR_RETURN(auto agent, Agent::Make(served_, "long", shape));
    Agents& agents = agents_.emplace_back();
    agents.push_back(std::move(agent));
    RETURN_IF_ERROR(Drive({agents.back().get()}, messages).status());
    ASSIGN_OR_RETURN(
        const ByName results,
        Compete({{.name = "langgraph-put-list",
                  .run =
                      [this, messages](uint64_t count) {
                        const uint64_t puts = std::max<uint64_t>(1, Of(count, kLists));
                        return langgraph_->PutList(messages, puts, kMessageBytes);
                      },
                  .process = &langgraph_->process(),
                  .database = &database_},
                 {.name = "commit-long",
                  .run = [this, slot = agents.back().get()](
                             uint64_t count) { return Drive({slot}, Of(count, kLongCommits)); },
                  .process = &served_.process(),
                  .database = &database_}}));
    figures_.Print(
        "langgraph-put-list-over-commit",
        MedianRatio(results.at("langgraph-put-list").p50_ms, results.at("commit-long").p50_ms),
        kOverList);
    return absl::OkStatus();
  }

  // Everything acknowledged must be there after everything was killed.
  absl::Status Count() {
    uint64_t puts = 0;
    for (const auto& slot : puts_) puts += slot->puts();
    RETURN_IF_ERROR(etcd_->Count(puts));
    served_.End(SIGKILL);
    RETURN_IF_ERROR(database_.Crash());
    RETURN_IF_ERROR(served_.Start());
    for (const Agents& agents : agents_) {
      for (const auto& agent : agents) RETURN_IF_ERROR(agent->Count());
    }
    for (const auto& appender : appenders_) RETURN_IF_ERROR(appender->Count());
    return langgraph_->Count();
  }

  void PrintAbsolute() {
    for (const auto& [name, results] : all_) {
      figures_.Print(name + "-per-second", Median(results.rates));
      figures_.Print(name + "-p50-ms", Median(results.p50_ms));
      figures_.Print(name + "-p99-ms", Median(results.p99_ms));
      figures_.Print(name + "-cpu-us", Median(results.processor_us));
      if (!results.database_us.empty()) {
        figures_.Print(name + "-database-cpu-us", Median(results.database_us));
      }
    }
  }

  const Plan& plan_;
  Figures& figures_;
  Postgres& database_;
  Served served_;
  std::unique_ptr<LangGraph> langgraph_;
  std::unique_ptr<Etcd> etcd_;
  std::deque<Agents> agents_;
  std::vector<std::unique_ptr<Appender>> appenders_;
  std::vector<std::unique_ptr<PutSlot>> puts_;
  ByName all_;
};

}  // namespace

absl::Status BenchPeersPg(const Plan& plan, Figures& figures) {
  if (plan.peers.empty()) {
    return absl::FailedPreconditionError("the opponents are not installed: see scripts/bench");
  }
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  return PeersPg(plan, figures, *database).Run();
}

}  // namespace holdfast::bench
