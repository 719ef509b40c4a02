// neighbours-pg: sessions that share statements with one whose changes the database always refuses
// and one whose row another transaction has locked, or with a client that repeats stored requests,
// against the same sessions alone.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/postgres.h"
#include "bench/repeated_writes.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "platform/status_macros.h"

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr size_t kNeighbours = 30;  // with the two, 32 calls in flight
constexpr uint64_t kCount = 8192;   // of a round
constexpr uint64_t kSmokeCount = 1024;
constexpr Goal kNoticed = AtMost(2);
// The client that repeats has so many calls in flight, over so many sessions.
constexpr size_t kRepeatersAtOnce = 4;
constexpr size_t kRepeated = 1000;
constexpr Goal kRateBesideRepeats = AtLeast(0.8);

constexpr char kPoison[] =
    "CREATE FUNCTION holdfast.bench_poison() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'poison'; END $$;"
    "CREATE TRIGGER bench_poison BEFORE INSERT ON holdfast.log FOR EACH ROW"
    " WHEN (NEW.msgs IS NOT NULL AND NEW.session_id = 'poisoned') EXECUTE FUNCTION "
    "holdfast.bench_poison()";

// Makes one call after the other for as long as it lives, whatever is answered.
class Nuisance {
 public:
  explicit Nuisance(Slot& slot) : slot_(slot) {}
  Nuisance(const Nuisance&) = delete;
  Nuisance& operator=(const Nuisance&) = delete;
  ~Nuisance() { ended_ = true; }

  [[nodiscard]] uint64_t calls() const { return calls_; }
  [[nodiscard]] uint64_t refused() const { return refused_; }

 private:
  void Run() {
    grpc::CompletionQueue queue;
    void* tag = nullptr;
    bool ok = false;
    while (!ended_) {
      slot_.Start(queue, nullptr);
      queue.Next(&tag, &ok);
      ++calls_;
      if (!slot_.End().ok()) ++refused_;
    }
    queue.Shutdown();
    queue.Next(&tag, &ok);
  }

  Slot& slot_;
  std::atomic<bool> ended_ = false;
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::jthread thread_{[this] { Run(); }};
};

class NeighboursPg {
 public:
  NeighboursPg(const Plan& plan, Figures& figures, Postgres& database)
      : plan_(plan),
        figures_(figures),
        database_(database),
        served_(plan.holdfastd, plan.directory + "/server", Keeping::In(database.dsn("store"))) {}

  absl::Status Run() {
    RETURN_IF_ERROR(served_.Start());
    RETURN_IF_ERROR(database_.DoInStore(kPoison));
    ASSIGN_OR_RETURN(neighbours_, MakeAgents(served_, "neighbour", kNeighbours));
    ASSIGN_OR_RETURN(poisoned_, Agent::Make(served_, "poisoned", CommitShape()));
    ASSIGN_OR_RETURN(locked_, Agent::Make(served_, "locked", CommitShape()));
    for (size_t at = 0; at < kRepeatersAtOnce; ++at) {
      ASSIGN_OR_RETURN(auto repeater,
                       RepeatedWrites::Make(served_, "repeated-" + std::to_string(at),
                                            kRepeated / kRepeatersAtOnce));
      repeaters_.push_back(std::move(repeater));
    }
    ASSIGN_OR_RETURN(holder_, pg::Connection::Open({.dsn = database_.dsn("store")}));
    const std::vector<Contender> contenders = {
        {.name = "alone",
         .run = [this](uint64_t count) { return Drive(SlotsOf(neighbours_), count); }},
        {.name = "beside", .run = [this](uint64_t count) { return DriveBeside(count); }},
        {.name = "repeats", .run = [this](uint64_t count) { return DriveBesideRepeats(count); }}};
    RETURN_IF_ERROR(database_.Checkpoint());
    ASSIGN_OR_RETURN(
        const auto results,
        TakeTurns(contenders, {.count = plan_.Many(kCount, kSmokeCount), .rounds = plan_.rounds},
                  figures_));
    RETURN_IF_ERROR(Count());
    RETURN_IF_ERROR(Print(results.at("alone"), results.at("beside")));
    return PrintRepeats(results.at("alone"), results.at("repeats"));
  }

 private:
  absl::StatusOr<Round> DriveBeside(uint64_t count) {
    RETURN_IF_ERROR(holder_->Script(
        "BEGIN; SELECT FROM holdfast.session WHERE session_id = 'locked' FOR UPDATE"));
    const Nuisance poisoned(*poisoned_);
    const Nuisance locked(*locked_);
    absl::StatusOr<Round> took = Drive(SlotsOf(neighbours_), count);
    refused_ += poisoned.refused();
    RETURN_IF_ERROR(holder_->Script("COMMIT"));  // or its last call would wait for it
    return took;
  }

  absl::StatusOr<Round> DriveBesideRepeats(uint64_t count) {
    std::deque<Nuisance> nuisances;
    for (const auto& repeater : repeaters_) nuisances.emplace_back(*repeater);
    absl::StatusOr<Round> took = Drive(SlotsOf(neighbours_), count);
    uint64_t calls = 0;
    for (const Nuisance& nuisance : nuisances) {
      calls += nuisance.calls();
      unrepeated_ += nuisance.refused();
    }
    if (took.ok()) repeats_.push_back(static_cast<double>(calls) / took->seconds);
    return took;
  }

  // Everything acknowledged must be there after everything was killed.
  absl::Status Count() {
    served_.End(SIGKILL);
    holder_.reset();
    RETURN_IF_ERROR(database_.Crash());
    RETURN_IF_ERROR(served_.Start());
    for (const auto& agent : neighbours_) RETURN_IF_ERROR(agent->Count());
    return absl::OkStatus();
  }

  absl::Status Print(const Results& alone, const Results& beside) {
    ASSIGN_OR_RETURN(const int64_t groups,
                     database_.Number("SELECT count(*) FROM (SELECT FROM holdfast.log m"
                                      " WHERE m.msgs IS NOT NULL GROUP BY m.xmin::text"
                                      " HAVING count(DISTINCT m.session_id) > 1) g"));
    figures_.Print("p99-beside-over-alone", MedianRatio(beside.p99_ms, alone.p99_ms), kNoticed);
    figures_.Print("p50-beside-over-alone", MedianRatio(beside.p50_ms, alone.p50_ms));
    figures_.Print("rate-beside-over-alone", MedianRatio(beside.rates, alone.rates));
    figures_.Print("alone-p99-ms", Median(alone.p99_ms));
    figures_.Print("beside-p99-ms", Median(beside.p99_ms));
    figures_.Print("groups", static_cast<double>(groups), AtLeast(1));
    figures_.Print("poisoned-refused", static_cast<double>(refused_), AtLeast(1));
    return absl::OkStatus();
  }

  absl::Status PrintRepeats(const Results& alone, const Results& beside) {
    figures_.Print("rate-beside-repeats", MedianRatio(beside.rates, alone.rates),
                   kRateBesideRepeats);
    figures_.Print("p99-beside-repeats", MedianRatio(beside.p99_ms, alone.p99_ms), kNoticed);
    figures_.Print("p50-beside-repeats", MedianRatio(beside.p50_ms, alone.p50_ms));
    figures_.Print("repeats-a-second", Median(repeats_));
    figures_.Print("repeats-not-answered-as-such", static_cast<double>(unrepeated_), AtMost(0));
    return absl::OkStatus();
  }

  const Plan& plan_;
  Figures& figures_;
  Postgres& database_;
  Served served_;
  std::vector<std::unique_ptr<Agent>> neighbours_;
  std::unique_ptr<Agent> poisoned_;
  std::unique_ptr<Agent> locked_;
  std::unique_ptr<pg::Connection> holder_;  // of the locked row
  uint64_t refused_ = 0;
  std::vector<std::unique_ptr<RepeatedWrites>> repeaters_;
  std::vector<double> repeats_;  // a second, in each round
  uint64_t unrepeated_ = 0;
};

}  // namespace

absl::Status BenchNeighboursPg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  return NeighboursPg(plan, figures, *database).Run();
}

}  // namespace holdfast::bench
