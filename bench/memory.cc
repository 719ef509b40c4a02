// memory-fs, memory-pg: what many live sessions and idle watchers take above an idle server.
#include "bench/benches.h"
#include "bench/postgres.h"
#include "bench/served.h"
#include "bench/session_maker.h"
#include "platform/status_macros.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr uint64_t kSessions = 10'000;
constexpr uint64_t kSmokeSessions = 500;
constexpr size_t kWatchers = 1'000;
constexpr size_t kSmokeWatchers = 50;
constexpr auto kPatience = std::chrono::minutes(5);
constexpr Goal kAboveIdle = AtMost(200);

// A watch of one session, which reads what comes until it is cancelled. Owned by its maker, who
// waits for its end.
class IdleWatch final : public grpc::ClientReadReactor<v1::WatchSessionResponse> {
 public:
  IdleWatch(Served& served, const std::string& session) {
    request_.set_session_id(session);
    served.sessions().async()->WatchSession(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  ~IdleWatch() override {
    context_.TryCancel();
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

  // Waits until the first message came; false when the stream ended before.
  bool AwaitFirst() {
    const absl::MutexLock lock(&mutex_);
    const auto decided = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return read_ || done_; };
    mutex_.Await(absl::Condition(&decided));
    return !done_;
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const absl::MutexLock lock(&mutex_);
      read_ = true;
    }
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& /*status*/) override {
    const absl::MutexLock lock(&mutex_);
    done_ = true;
  }

 private:
  grpc::ClientContext context_;
  v1::WatchSessionRequest request_;
  v1::WatchSessionResponse response_;
  absl::Mutex mutex_;
  bool read_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

// Measures `served`, which holds nothing yet.
absl::Status Measure(const Plan& plan, Figures& figures, Served& served) {
  RETURN_IF_ERROR(served.Start());
  const double idle = served.process().ResidentMiB();
  ASSIGN_OR_RETURN(const uint64_t sessions,
                   MakeSessions(served, plan.Many(kSessions, kSmokeSessions), kPatience));
  const double with_sessions = served.process().ResidentMiB();
  std::vector<std::unique_ptr<IdleWatch>> watches;
  const size_t watchers = plan.Many(kWatchers, kSmokeWatchers);
  for (size_t at = 1; at <= watchers; ++at) {
    watches.push_back(std::make_unique<IdleWatch>(served, "s-" + std::to_string(at)));
  }
  const bool all =
      std::ranges::all_of(watches, [](const auto& watch) { return watch->AwaitFirst(); });
  if (!all) return absl::UnavailableError("a watch ended by itself");
  const double above = served.process().ResidentMiB() - idle;
  figures.Note(1, "idle", "MiB", idle);
  figures.Note(1, "with-sessions", "MiB", with_sessions);
  figures.Print("MiB-above-idle", above, kAboveIdle);
  figures.Print("MiB-of-sessions", with_sessions - idle);
  figures.Print("MiB-idle", idle);
  figures.Print("sessions", static_cast<double>(sessions));
  figures.Print("watchers", static_cast<double>(watchers));
  return absl::OkStatus();
}

}  // namespace

absl::Status BenchMemoryFs(const Plan& plan, Figures& figures) {
  Served served(plan.holdfastd, plan.directory + "/disk");
  return Measure(plan, figures, served);
}

absl::Status BenchMemoryPg(const Plan& plan, Figures& figures) {
  ASSIGN_OR_RETURN(const auto database, Postgres::Start(plan, figures));
  Served served(plan.holdfastd, plan.directory + "/server", Keeping::In(database->dsn("store")));
  return Measure(plan, figures, served);
}

}  // namespace holdfast::bench
