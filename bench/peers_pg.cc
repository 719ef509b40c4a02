// peers-pg: CommitTurn and AppendJournal over PostgreSQL against what others offer to keep an
// agent's state: LangGraph's PostgresSaver in the same PostgreSQL, and etcd on the same disk.
// LangGraph puts one channel of new bytes, which flatters it, and the channel of an agent's
// messages, a list that it writes anew with each put.
#include "bench/agent.h"
#include "bench/appender.h"
#include "bench/benches.h"
#include "bench/costs.h"
#include "bench/echo.h"
#include "bench/etcd.h"
#include "bench/langgraph.h"
#include "bench/postgres.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "platform/status_macros.h"

#include <algorithm>
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

constexpr size_t kMain = 32;

struct Level {
  size_t in_flight;
  Goal over_langgraph;
};
constexpr std::array<Level, 3> kLevels = {
    {{.in_flight = 8, .over_langgraph = AtLeast(1.8)},
     {.in_flight = kMain, .over_langgraph = AtLeast(2.6, 3.7)},
     {.in_flight = 64, .over_langgraph = AtLeast(3.0)}}};
constexpr Goal kDatabaseCpu = AtMost(0.35);  // over that of a put
// Of a round. A slow one makes fewer calls in about the same time.
constexpr uint64_t kCommits = 6144;
constexpr uint64_t kPuts = 1024;
constexpr uint64_t kSmokeShare = 8;
constexpr size_t kEntryBytes = 1024;
constexpr Goal kAppendOverWrites = AtLeast(2);
constexpr uint64_t kMessages = 10'000;
constexpr uint64_t kSmokeMessages = 200;
constexpr size_t kMessageBytes = 1024;
constexpr uint64_t kLongCommits = 256;
constexpr uint64_t kLists = 3;
constexpr Goal kOverList = AtLeast(200);
constexpr Goal kOverEtcd = AtLeast(0.65, 0.95);

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
    const auto echo = std::ranges::find_if(
        results, [](const auto& entry) { return entry.first.starts_with("echo"); });
    for (const auto& [name, values] : results) costs_.push_back({name, values, echo->second});
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
         .database = &database_,
         .client = &langgraph_->process()},
        {.name = "commit" + at,
         .run = [slots = SlotsOf(agents)](uint64_t count) { return Drive(slots, count); },
         .process = &served_.process(),
         .database = &database_},
        EmptyEcho("echo" + at, served_, width)};
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
    figures_.Print("database-cpu-over-langgraph-put" + at,
                   MedianRatio(commit.database_us, results.at("langgraph-put" + at).database_us),
                   width == kMain ? std::optional(kDatabaseCpu) : std::nullopt);
    // No commit over this transport can have a higher ratio.
    figures_.Print(
        "echo-over-langgraph-put" + at,
        MedianRatio(results.at("echo" + at).rates, results.at("langgraph-put" + at).rates));
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
                  .database = &database_,
                  .client = &langgraph_->process()},
                 {.name = "append" + at,
                  .run = [this](uint64_t count) { return Drive(SlotsOf(appenders_), count); },
                  .process = &served_.process(),
                  .database = &database_},
                 EmptyEcho("echo-beside-append" + at, served_, kMain, kEntryBytes)}));
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
                  .database = &database_,
                  .client = &langgraph_->process()},
                 {.name = "commit-long",
                  .run = [this, slot = agents.back().get()](
                             uint64_t count) { return Drive({slot}, Of(count, kLongCommits)); },
                  .process = &served_.process(),
                  .database = &database_},
                 EmptyEcho("echo-beside-long", served_, 1)}));
    figures_.Print("database-cpu-long-over-langgraph-put-list",
                   MedianRatio(results.at("commit-long").database_us,
                               results.at("langgraph-put-list").database_us));
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
    for (const auto& [name, results, echo] : costs_) PrintCosts(figures_, name, results, &echo);
  }

  // The results of one contender, and of the call that did nothing in the same rounds.
  struct Cost {
    std::string name;
    Results results;
    Results echo;
  };

  const Plan& plan_;
  Figures& figures_;
  Postgres& database_;
  Served served_;
  std::unique_ptr<LangGraph> langgraph_;
  std::unique_ptr<Etcd> etcd_;
  std::deque<Agents> agents_;
  std::vector<std::unique_ptr<Appender>> appenders_;
  std::vector<std::unique_ptr<PutSlot>> puts_;
  std::vector<Cost> costs_;
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
