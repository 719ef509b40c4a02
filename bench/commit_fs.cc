// commit-fs: CommitTurn of the files store against the RPC alone, and against files that are
// renamed into place.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/echo.h"
#include "bench/raw_sync.h"
#include "bench/rename_store.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "session/status_macros.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
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
  uint64_t count;  // of a round; some rotations of each session
  std::optional<Goal> goal;
};
const std::array<Level, 4> kLevels = {{{.in_flight = 1, .count = 1536, .goal = std::nullopt},
                                       {.in_flight = 8, .count = 4096, .goal = std::nullopt},
                                       {.in_flight = kMain, .count = 6144, .goal = AtLeast(0.7)},
                                       {.in_flight = 64, .count = 8192, .goal = AtLeast(0.75)}}};
constexpr uint64_t kSmokeShare = 4;
constexpr Goal kOverRename = AtLeast(8);
constexpr Goal kOverBareEcho = AtLeast(0.8);

using Agents = std::vector<std::unique_ptr<Agent>>;

template <typename T>
Contender Calls(std::string name, const std::vector<std::unique_ptr<T>>& slots,
                const ChildProcess& process) {
  std::vector<Slot*> all;
  for (const auto& slot : slots) all.push_back(slot.get());
  return {.name = std::move(name),
          .run = [all = std::move(all)](uint64_t count) { return Drive(all, count); },
          .process = &process};
}

template <typename Store>
Contender Alone(std::string name, Store& store) {
  return {.name = std::move(name),
          .run = [&store](uint64_t count) { return store.Commit(count); },
          .process = nullptr};
}

std::vector<std::unique_ptr<EchoSlot>> MakeEchoes(v1::AdminService::Stub& stub, size_t count) {
  std::vector<std::unique_ptr<EchoSlot>> slots;
  for (size_t at = 0; at < count; ++at) slots.push_back(std::make_unique<EchoSlot>(stub));
  return slots;
}

// A server over a root of its own, and the rename store on the same file system.
class Place {
 public:
  Place(const Plan& plan, const std::string& directory)
      : directory_(directory), served_(plan.holdfastd, directory) {}

  absl::Status Open() {
    RETURN_IF_ERROR(served_.Start());
    ASSIGN_OR_RETURN(rename_, RenameStore::Make(directory_ + "/rename", kMain));
    ASSIGN_OR_RETURN(raw_, RawSync::Make(directory_ + "/raw", kMain));
    return absl::OkStatus();
  }

  absl::StatusOr<const Agents*> MakeSessions(size_t count) {
    ASSIGN_OR_RETURN(Agents agents,
                     MakeAgents(served_, "in-flight-" + std::to_string(count), count));
    return &agents_.emplace_back(std::move(agents));
  }

  // Everything acknowledged must be there after the server was killed.
  absl::Status Count() {
    served_.End(SIGKILL);
    RETURN_IF_ERROR(served_.Start());
    for (const Agents& agents : agents_) {
      for (const auto& agent : agents) {
        RETURN_IF_ERROR(agent->Count());
      }
    }
    return rename_->Count();
  }

  [[nodiscard]] Served& served() { return served_; }
  [[nodiscard]] RenameStore& rename() { return *rename_; }
  [[nodiscard]] RawSync& raw() { return *raw_; }

 private:
  const std::string directory_;
  Served served_;
  std::unique_ptr<RenameStore> rename_;
  std::unique_ptr<RawSync> raw_;
  std::vector<Agents> agents_;
};

class CommitFs {
 public:
  CommitFs(const Plan& plan, Figures& figures)
      : plan_(plan), figures_(figures), place_(plan, plan.directory + "/disk") {}

  absl::Status Run() {
    RETURN_IF_ERROR(place_.Open());
    ASSIGN_OR_RETURN(bare_, ChildProcess::Start({plan_.self, "--serve-echo"},
                                                plan_.directory + "/bare-echo.log"));
    const std::string& ready = bare_->first_line();
    bare_stub_ = v1::AdminService::NewStub(Connect(ready.substr(ready.find('=') + 1)));
    for (const Level& level : kLevels) RETURN_IF_ERROR(RunLevel(level));
    RETURN_IF_ERROR(place_.Count());
    if (!plan_.journaled.empty()) RETURN_IF_ERROR(RunJournaled());
    Print();
    return absl::OkStatus();
  }

 private:
  using ByName = std::map<std::string, Results>;

  uint64_t CountOf(const Level& level) const {
    return plan_.Many(level.count, level.count / kSmokeShare);
  }

  absl::Status RunLevel(const Level& level) {
    Served& served = place_.served();
    const size_t width = level.in_flight;
    const std::string suffix = "." + std::to_string(width);
    ASSIGN_OR_RETURN(const Agents* agents, place_.MakeSessions(width));
    const auto echoes = MakeEchoes(served.admin(), width);
    const auto bare = MakeEchoes(*bare_stub_, width);
    std::vector<Contender> contenders = {Calls("bare-echo" + suffix, bare, *bare_),
                                         Calls("echo" + suffix, echoes, served.process()),
                                         Calls("commit" + suffix, *agents, served.process())};
    if (width == kMain) {
      contenders.push_back(Alone("rename", place_.rename()));
      contenders.push_back(Alone("raw-sync", place_.raw()));
    }
    ASSIGN_OR_RETURN(
        ByName results,
        TakeTurns(contenders, {.count = CountOf(level), .rounds = plan_.rounds}, figures_));
    results_.merge(results);
    return absl::OkStatus();
  }

  absl::Status RunJournaled() {
    Place place(plan_, plan_.journaled);
    RETURN_IF_ERROR(place.Open());
    ASSIGN_OR_RETURN(const Agents* agents, place.MakeSessions(kMain));
    ASSIGN_OR_RETURN(const ByName results,
                     TakeTurns({Calls("commit", *agents, place.served().process()),
                                Alone("rename", place.rename())},
                               {.count = plan_.Many(kJournaledCount, kJournaledCount / kSmokeShare),
                                .rounds = plan_.rounds},
                               figures_));
    RETURN_IF_ERROR(place.Count());
    over_journaled_rename_ = MedianRatio(results.at("commit").rates, results.at("rename").rates);
    return absl::OkStatus();
  }

  const Results& Of(const std::string& name, const std::string& suffix) const {
    return results_.at(name + suffix);
  }

  void Print() {
    for (const Level& level : kLevels) {
      const std::string at = "." + std::to_string(level.in_flight);
      const Results& commit = Of("commit", at);
      figures_.Print("commit-over-echo" + at, MedianRatio(commit.rates, Of("echo", at).rates),
                     level.goal);
    }
    PrintRename();
    PrintBound();
    for (const Level& level : kLevels) {
      const std::string at = "." + std::to_string(level.in_flight);
      figures_.Print("echo-over-bare-echo" + at,
                     MedianRatio(Of("echo", at).rates, Of("bare-echo", at).rates),
                     level.in_flight == kMain ? std::optional(kOverBareEcho) : std::nullopt);
    }
    for (const Level& level : kLevels) PrintAbsolute("." + std::to_string(level.in_flight));
  }

  void PrintRename() {
    const std::string at = "." + std::to_string(kMain);
    const double disk = MedianRatio(Of("commit", at).rates, results_.at("rename").rates);
    const double journaled = over_journaled_rename_.value_or(disk);
    figures_.Print("commit-over-rename" + at, std::min(disk, journaled), kOverRename);
    figures_.Print("commit-over-rename-on-this-disk" + at, disk);
    if (over_journaled_rename_) {
      figures_.Print("commit-over-rename-on-journaled-ext4" + at, journaled);
    } else {
      figures_.Remark("no journaled ext4 could be made here: the ratio is of this disk alone");
    }
  }

  // The time that one call and one sync take on this machine, over the time of a commit, which
  // cannot do without either.
  void PrintBound() {
    const std::string at = "." + std::to_string(kMain);
    const std::vector<double>& commits = Of("commit", at).rates;
    const std::vector<double>& echoes = Of("echo", at).rates;
    const std::vector<double>& syncs = results_.at("raw-sync").rates;
    std::vector<double> bounds;
    for (size_t round = 0; round < commits.size(); ++round) {
      bounds.push_back(1 / (1 / echoes[round] + 1 / syncs[round]));
    }
    figures_.Print("commit-over-echo-and-sync" + at, MedianRatio(commits, bounds));
    figures_.Print("echo-and-sync-over-echo" + at, MedianRatio(bounds, echoes));
    figures_.Print("raw-sync" + at + "-per-second", Median(syncs));
  }

  void PrintAbsolute(const std::string& at) {
    for (const char* name : {"commit", "echo", "bare-echo"}) {
      const Results& results = Of(name, at);
      const std::string what = name + at;
      figures_.Print(what + "-per-second", Median(results.rates));
      figures_.Print(what + "-p50-ms", Median(results.p50_ms));
      figures_.Print(what + "-p99-ms", Median(results.p99_ms));
      figures_.Print(what + "-server-cpu-us", Median(results.processor_us));
    }
  }

  static constexpr uint64_t kJournaledCount = 3072;

  const Plan& plan_;
  Figures& figures_;
  Place place_;
  std::unique_ptr<ChildProcess> bare_;
  std::unique_ptr<v1::AdminService::Stub> bare_stub_;
  ByName results_;
  std::optional<double> over_journaled_rename_;
};

}  // namespace

absl::Status BenchCommitFs(const Plan& plan, Figures& figures) {
  return CommitFs(plan, figures).Run();
}

}  // namespace holdfast::bench
