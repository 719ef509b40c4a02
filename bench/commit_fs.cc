// commit-fs: CommitTurn of the files store against the RPC alone, and against files that are
// renamed into place. Each round of commits is so long that every session's journal is rotated
// twice in it.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/costs.h"
#include "bench/echo.h"
#include "bench/raw_sync.h"
#include "bench/rename_store.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "bench/switches.h"
#include "platform/status_macros.h"
#include "session/limits.h"

#include "absl/strings/str_cat.h"

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

// Of the goals that have one number of calls in flight.
constexpr size_t kMain = 32;

struct Level {
  size_t in_flight;
  uint64_t echoes;  // of a round
  std::optional<Goal> over_echo = std::nullopt;
};
const std::array<Level, 4> kLevels = {
    {{.in_flight = 1, .echoes = 1536},
     {.in_flight = 8, .echoes = 4096},
     {.in_flight = kMain, .echoes = 8192, .over_echo = AtLeast(0.5, 0.65)},
     {.in_flight = 64, .echoes = 8192, .over_echo = AtLeast(0.55, 0.65)}}};
constexpr uint64_t kSmokeShare = 4;
constexpr uint64_t kRenames = 2048;   // commits of a round of the opponent that renames
constexpr uint64_t kRawSyncs = 8192;  // of one that only writes and syncs
// A round of commits is long. So many rounds are enough, and keep the bench below four minutes.
constexpr size_t kRoundsMost = 5;
// Of each session in each round. Its journal is rotated at 4 MiB, after some 450 commits of 8 KB,
// and what it seals may be compacted. Each is a switch of the session's files.
constexpr uint64_t kCommits = 1100;
constexpr uint64_t kSwitches = 2;
static_assert(kCommits * 8 * kKiB >= kSwitches * 4 * kMiB);
// A smoke test comes to its rotations by larger commits.
const CommitShape kSmokeShape = {
    .messages = 2, .message_bytes = 1024, .slots = {size_t{248} * 1024, 2048}};
constexpr uint64_t kSmokeCommits = 40;
constexpr Goal kAllCpu = AtMost(2.0, 1.5);  // over that of Echo
constexpr Goal kOverRename = AtLeast(3, 3.5);
constexpr Goal kOverBareEcho = AtLeast(0.8);

using Agents = std::vector<std::unique_ptr<Agent>>;

// A store in this process, whose processor time is so the client's.
template <typename Store>
Contender Alone(std::string name, Store& store, uint64_t count) {
  return {.name = std::move(name),
          .run = [&store](uint64_t calls) { return store.Commit(calls); },
          .count = count};
}

// A server over a root of its own, and the rename store on the same file system.
class Place {
 public:
  Place(const Plan& plan, const std::string& directory)
      : plan_(plan), directory_(directory), served_(plan.holdfastd, directory) {}

  absl::Status Open() {
    RETURN_IF_ERROR(served_.Start());
    ASSIGN_OR_RETURN(rename_, RenameStore::Make(directory_ + "/rename", kMain));
    ASSIGN_OR_RETURN(raw_, RawSync::Make(directory_ + "/raw", kMain));
    return absl::OkStatus();
  }

  // A session for each commit in flight, all of whose journals are rotated in each round.
  absl::StatusOr<Contender> Commits(const std::string& name, size_t in_flight) {
    const std::string prefix = "in-flight-" + std::to_string(in_flight) + "-";
    Agents& agents = agents_.emplace_back();
    for (size_t number = 1; number <= in_flight; ++number) {
      ASSIGN_OR_RETURN(auto agent, Agent::Make(served_, prefix + std::to_string(number),
                                               plan_.quick ? kSmokeShape : CommitShape()));
      agents.push_back(std::move(agent));
    }
    const uint64_t count = in_flight * plan_.Many(kCommits, kSmokeCommits);
    const auto run = [this, name, prefix, count, slots = SlotsOf(agents)](uint64_t commits) {
      const bool measured = commits == count;  // and not the shorter round before
      return Rotate(name, prefix, slots, commits, measured ? kSwitches : 0);
    };
    return Contender{.name = name, .run = run, .process = &served_.process(), .count = count};
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
  // The fewest of a session in a measured round, by the name of the contender.
  [[nodiscard]] const std::map<std::string, uint64_t>& switches() const { return switches_; }

 private:
  // A round of the contender `name`. FAILED_PRECONDITION when a session whose id begins with
  // `prefix` has fewer than `least` switches in it.
  absl::StatusOr<Round> Rotate(const std::string& name, const std::string& prefix,
                               const std::vector<Slot*>& slots, uint64_t commits, uint64_t least) {
    ASSIGN_OR_RETURN(const Switches before, ReadSwitches(served_.root(), prefix));
    ASSIGN_OR_RETURN(const Round took, Drive(slots, commits));
    ASSIGN_OR_RETURN(const Switches after, ReadSwitches(served_.root(), prefix));
    const uint64_t fewest = FewestBetween(before, after);
    if (least > 0)
      switches_[name] = std::min(fewest, switches_.try_emplace(name, fewest).first->second);
    if (fewest >= least) return took;
    return absl::FailedPreconditionError(
        absl::StrCat("a round of ", commits, " commits holds ", fewest, " switches of a session"));
  }

  const Plan& plan_;
  const std::string directory_;
  Served served_;
  std::unique_ptr<RenameStore> rename_;
  std::unique_ptr<RawSync> raw_;
  std::deque<Agents> agents_;
  std::map<std::string, uint64_t> switches_;
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
    PrintSwitches(place_);
    if (!plan_.journaled.empty()) RETURN_IF_ERROR(RunJournaled());
    Print();
    return absl::OkStatus();
  }

 private:
  using ByName = std::map<std::string, Results>;

  uint64_t Many(uint64_t count) const { return plan_.Many(count, count / kSmokeShare); }

  absl::StatusOr<ByName> Compete(const std::vector<Contender>& contenders) {
    return TakeTurns(contenders, {.rounds = std::min(plan_.rounds, kRoundsMost)}, figures_);
  }

  absl::Status RunLevel(const Level& level) {
    Served& served = place_.served();
    const size_t width = level.in_flight;
    const uint64_t count = Many(level.echoes);
    const std::string suffix = "." + std::to_string(width);
    const auto bare = MakeEchoes(*bare_stub_, width);
    const auto both_ways = MakeEchoes(served.admin(), width, EchoReply::kBytes);
    Contender echo = EmptyEcho("echo" + suffix, served, width);
    echo.count = count;
    ASSIGN_OR_RETURN(Contender commits, place_.Commits("commit" + suffix, width));
    std::vector<Contender> contenders = {
        Calls("bare-echo" + suffix, bare, *bare_, count), std::move(echo),
        Calls("echo-both-ways" + suffix, both_ways, served.process(), count), std::move(commits)};
    if (width == kMain) {
      contenders.push_back(Alone("rename" + suffix, place_.rename(), Many(kRenames)));
      contenders.push_back(Alone("raw-sync" + suffix, place_.raw(), Many(kRawSyncs)));
    }
    ASSIGN_OR_RETURN(ByName results, Compete(contenders));
    results_.merge(results);
    return absl::OkStatus();
  }

  absl::Status RunJournaled() {
    Place place(plan_, plan_.journaled);
    RETURN_IF_ERROR(place.Open());
    ASSIGN_OR_RETURN(Contender commits, place.Commits(kJournaledCommit, kMain));
    ASSIGN_OR_RETURN(
        ByName results,
        Compete({std::move(commits), Alone(kJournaledRename, place.rename(), Many(kRenames))}));
    RETURN_IF_ERROR(place.Count());
    PrintSwitches(place);
    journaled_ = std::move(results);
    return absl::OkStatus();
  }

  const Results& Of(const std::string& name, const std::string& suffix) const {
    return results_.at(name + suffix);
  }

  void Print() {
    for (const Level& level : kLevels) {
      const std::string at = "." + std::to_string(level.in_flight);
      const Results& commit = Of("commit", at);
      const Results& echo = Of("echo", at);
      const bool is_main = level.in_flight == kMain;
      figures_.Print("cpu-over-echo" + at, MedianRatio(commit.all_us, echo.all_us),
                     is_main ? std::optional(kAllCpu) : std::nullopt);
      figures_.Print("server-cpu-over-echo" + at, MedianRatio(commit.server_us, echo.server_us));
      figures_.Print("commit-over-echo" + at, MedianRatio(commit.rates, echo.rates),
                     level.over_echo);
      figures_.Print("commit-over-echo-both-ways" + at,
                     MedianRatio(commit.rates, Of("echo-both-ways", at).rates));
      figures_.Print("echo-over-bare-echo" + at, MedianRatio(echo.rates, Of("bare-echo", at).rates),
                     is_main ? std::optional(kOverBareEcho) : std::nullopt);
    }
    PrintRename();
    PrintBound();
    for (const auto& [name, results] : results_) {
      PrintCosts(figures_, name, results, &Of("echo", name.substr(name.find('.'))));
    }
    for (const auto& [name, results] : journaled_) PrintCosts(figures_, name, results, nullptr);
  }

  void PrintSwitches(const Place& place) {
    for (const auto& [name, fewest] : place.switches()) {
      figures_.Print("switches-of-a-session-in-a-round-of-" + name, static_cast<double>(fewest),
                     AtLeast(kSwitches));
    }
  }

  void PrintRename() {
    const std::string at = "." + std::to_string(kMain);
    figures_.Print("commit-over-rename-on-this-disk" + at,
                   MedianRatio(Of("commit", at).rates, Of("rename", at).rates));
    if (journaled_.empty()) {
      figures_.Remark("no journaled ext4 could be made here: the goal is not checked");
      return;
    }
    figures_.Print(
        "commit-over-rename-on-journaled-ext4" + at,
        MedianRatio(journaled_.at(kJournaledCommit).rates, journaled_.at(kJournaledRename).rates),
        kOverRename);
  }

  // The time that one call and one sync take on this machine, over the time of a commit, which
  // cannot do without either.
  void PrintBound() {
    const std::string at = "." + std::to_string(kMain);
    const std::vector<double>& commits = Of("commit", at).rates;
    const std::vector<double>& echoes = Of("echo", at).rates;
    const std::vector<double>& syncs = Of("raw-sync", at).rates;
    std::vector<double> bounds;
    for (size_t round = 0; round < commits.size(); ++round) {
      bounds.push_back(1 / (1 / echoes[round] + 1 / syncs[round]));
    }
    figures_.Print("commit-over-echo-and-sync" + at, MedianRatio(commits, bounds));
    figures_.Print("echo-and-sync-over-echo" + at, MedianRatio(bounds, echoes));
  }

  static constexpr char kJournaledCommit[] = "commit-on-journaled-ext4.32";
  static constexpr char kJournaledRename[] = "rename-on-journaled-ext4.32";

  const Plan& plan_;
  Figures& figures_;
  Place place_;
  std::unique_ptr<ChildProcess> bare_;
  std::unique_ptr<v1::AdminService::Stub> bare_stub_;
  ByName results_;
  ByName journaled_;  // empty where there is no such file system
};

}  // namespace

absl::Status BenchCommitFs(const Plan& plan, Figures& figures) {
  return CommitFs(plan, figures).Run();
}

}  // namespace holdfast::bench
