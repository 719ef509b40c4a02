#include "server/rpc/health_watch_reactor.h"

#include "server/rpc/admission.h"
#include "server/rpc/status.h"
#include "session/limits.h"
#include "session/reasons.h"
#include "session/refusal.h"

#include <optional>

namespace holdfast {
namespace {

using Response = grpc::health::v1::HealthCheckResponse;

// A write may be under way; what changes meanwhile is written after it, the newest alone.
class Reactor final : public HealthWatchReactor, public HealthWatch {
 public:
  explicit Reactor(HealthWatches& watches) : watches_(watches) {}

  void Start() {
    if (!watches_.Add(this)) FinishWith(ToGrpcStatus(Overloaded("health.watches"), {}));
  }

  void Tell(bool serving) override {
    const absl::MutexLock lock(&mutex_);
    if (ending_) return;
    wanted_ = serving;
    Write();
  }

  void End() override {
    FinishWith(ToGrpcStatus(StoreUnavailable("this server is stopping", Fate::kNoEffect), {}));
  }

  void OnWriteDone(bool ok) override {
    const absl::MutexLock lock(&mutex_);
    writing_ = false;
    // A status that changed before the end is written before it.
    if (ok) Write();
    if (!writing_ && ending_) Finish(*ending_);
  }

  void OnCancel() override { FinishWith(grpc::Status::CANCELLED); }

  void OnDone() override {
    watches_.Remove(this);
    delete this;
  }

 private:
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || written_ == wanted_) return;
    writing_ = true;
    written_ = wanted_;
    response_.set_status(HealthStatus(*wanted_));
    StartWrite(&response_);
  }

  // The transport allows one write at a time and nothing after the end.
  void FinishWith(const grpc::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (ending_) return;
    ending_ = status;
    if (!writing_) Finish(status);
  }

  HealthWatches& watches_;
  Response response_;  // of the write that is under way
  absl::Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<bool> wanted_ ABSL_GUARDED_BY(mutex_);
  std::optional<bool> written_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mutex_);
};

class Refused final : public HealthWatchReactor {
 public:
  explicit Refused(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

Response::ServingStatus HealthStatus(bool serving) {
  return serving ? Response::SERVING : Response::NOT_SERVING;
}

void HealthWatches::SetServing(bool serving) {
  const absl::MutexLock lock(&mutex_);
  serving_ = serving;
  for (HealthWatch* watch : watches_) watch->Tell(serving);
}

bool HealthWatches::serving() {
  const absl::MutexLock lock(&mutex_);
  return serving_;
}

bool HealthWatches::Add(HealthWatch* watch) {
  const absl::MutexLock lock(&mutex_);
  if (watches_.size() >= kHealthWatches) return false;
  watches_.insert(watch);
  watch->Tell(serving_);
  if (ended_) watch->End();
  return true;
}

void HealthWatches::Remove(HealthWatch* watch) {
  const absl::MutexLock lock(&mutex_);
  watches_.erase(watch);
}

void HealthWatches::End() {
  const absl::MutexLock lock(&mutex_);
  ended_ = true;
  for (HealthWatch* watch : watches_) watch->End();
}

HealthWatchReactor* StartHealthWatch(HealthWatches& watches) {
  auto* reactor = new Reactor(watches);
  reactor->Start();
  return reactor;
}

HealthWatchReactor* RefuseHealthWatch(const grpc::Status& status) { return new Refused(status); }

}  // namespace holdfast
