// What watchers that never read cost those that do: the time from a commit until every reading
// watcher has its events, with as many stuck watchers beside them and without.
#include "bench/agent.h"
#include "bench/benches.h"
#include "bench/rounds.h"
#include "bench/served.h"
#include "platform/status_macros.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr char kSession[] = "watched";
constexpr size_t kWatchers = 500;  // that read; and as many that do not
constexpr size_t kSmokeWatchers = 20;
constexpr uint64_t kCommits = 100;  // of each side in each round
constexpr uint64_t kSmokeCommits = 10;
// Before a side is measured: until then the stuck watchers have been sent what they can take.
constexpr uint64_t kWarmUp = 100;
// Commits before all: their events are more than the transport takes for a stuck watcher.
constexpr uint64_t kBacklog = 400;
constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr Goal kGoal = AtMost(1.1);

using SteadyClock = std::chrono::steady_clock;

// The revision up to which each of some watchers has read.
class Readings {
 public:
  explicit Readings(size_t count) : behind_(count) {}

  // From now on every watcher counts as behind that has not read `revision`.
  void Want(uint64_t revision) {
    const absl::MutexLock lock(&mutex_);
    wanted_ = revision;
    behind_ = seen_.size();
    for (const uint64_t seen : seen_) behind_ -= seen >= wanted_ ? 1 : 0;
  }
  void Note(size_t reader, uint64_t revision) {
    const absl::MutexLock lock(&mutex_);
    if (seen_.size() <= reader) seen_.resize(reader + 1);
    const bool was_behind = seen_[reader] < wanted_;
    seen_[reader] = std::max(seen_[reader], revision);
    if (was_behind && seen_[reader] >= wanted_) --behind_;
  }
  bool AwaitAll() {
    const absl::MutexLock lock(&mutex_);
    const auto all = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return behind_ == 0; };
    return mutex_.AwaitWithTimeout(absl::Condition(&all), kPatience);
  }
  void Resize(size_t count) {
    const absl::MutexLock lock(&mutex_);
    seen_.resize(count);
  }

 private:
  absl::Mutex mutex_;
  std::vector<uint64_t> seen_ ABSL_GUARDED_BY(mutex_);
  uint64_t wanted_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t behind_ ABSL_GUARDED_BY(mutex_);
};

// One stream that is read as fast as it comes, or not at all.
class Stream final : public grpc::ClientReadReactor<v1::WatchSessionResponse> {
 public:
  // Reads into `readings` as `number`; a nullptr never reads.
  Stream(v1::SessionService::Stub& stub, Readings* readings, size_t number)
      : readings_(readings), number_(number) {
    request_.set_session_id(kSession);
    stub.async()->WatchSession(&context_, &request_, this);
    if (readings_ != nullptr) StartRead(&message_);
    StartCall();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // Ends it.
  ~Stream() override {
    context_.TryCancel();
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (message_.has_event()) readings_->Note(number_, message_.event().revision());
    StartRead(&message_);
  }
  void OnDone(const grpc::Status& /*status*/) override {
    const absl::MutexLock lock(&mutex_);
    done_ = true;
  }

 private:
  Readings* const readings_;
  const size_t number_;
  grpc::ClientContext context_;
  v1::WatchSessionRequest request_;
  v1::WatchSessionResponse message_;
  absl::Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

using Streams = std::vector<std::unique_ptr<Stream>>;

class BenchOfWatches {
 public:
  BenchOfWatches(const Plan& plan, Figures& figures)
      : plan_(plan),
        figures_(figures),
        count_(plan.Many(kWatchers, kSmokeWatchers)),
        served_(plan.holdfastd, plan.directory),
        readings_(count_) {}

  absl::Status Run() {
    RETURN_IF_ERROR(served_.Start());
    ASSIGN_OR_RETURN(agent_, Agent::Make(served_, kSession, CommitShape()));
    RETURN_IF_ERROR(Drive({agent_.get()}, kBacklog).status());
    readings_.Resize(count_);
    Streams readers;
    for (size_t at = 0; at < count_; ++at) {
      readers.push_back(std::make_unique<Stream>(served_.sessions(), &readings_, at));
    }
    for (size_t round = 1; round <= plan_.rounds; ++round) {
      for (const bool stuck : {round % 2 == 0, round % 2 == 1}) {
        RETURN_IF_ERROR(RunSide(round, stuck));
      }
    }
    figures_.Print("watch-latency-with-stuck-readers", MedianRatio(beside_, alone_), kGoal);
    figures_.Print("watchers", static_cast<double>(count_));
    figures_.Print("latency-alone-ms", Median(alone_));
    figures_.Print("latency-with-stuck-ms", Median(beside_));
    readers.clear();
    RETURN_IF_ERROR(agent_->Count());
    served_.End(SIGTERM);
    return absl::OkStatus();
  }

 private:
  // One commit until every reading watcher has its events, in ms.
  absl::StatusOr<double> CommitAndAwait() {
    const auto begin = SteadyClock::now();
    RETURN_IF_ERROR(Drive({agent_.get()}, 1).status());
    readings_.Want(agent_->revision());
    if (!readings_.AwaitAll()) return absl::DeadlineExceededError("events did not arrive");
    const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
    return took.count();
  }

  absl::Status RunSide(size_t round, bool with_stuck) {
    const auto stub = v1::SessionService::NewStub(served_.NewNarrowConnection());
    Streams stuck;
    for (size_t at = 0; with_stuck && at < count_; ++at) {
      stuck.push_back(std::make_unique<Stream>(*stub, nullptr, at));
    }
    for (uint64_t commit = 0; commit < kWarmUp; ++commit)
      RETURN_IF_ERROR(CommitAndAwait().status());
    std::vector<double> latencies;
    for (uint64_t commit = 0; commit < plan_.Many(kCommits, kSmokeCommits); ++commit) {
      ASSIGN_OR_RETURN(const double took, CommitAndAwait());
      latencies.push_back(took);
    }
    figures_.Keep(round, with_stuck ? "with-stuck" : "alone", "ms", Median(latencies),
                  with_stuck ? beside_ : alone_);
    return absl::OkStatus();
  }

  const Plan& plan_;
  Figures& figures_;
  const size_t count_;
  Served served_;
  Readings readings_;
  std::unique_ptr<Agent> agent_;
  std::vector<double> alone_;
  std::vector<double> beside_;
};

}  // namespace

absl::Status BenchWatch(const Plan& plan, Figures& figures) {
  return BenchOfWatches(plan, figures).Run();
}

}  // namespace holdfast::bench
