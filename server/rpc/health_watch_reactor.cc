#include "server/rpc/health_watch_reactor.h"

#include "server/rpc/call/admission.h"
#include "server/rpc/call/status.h"
#include "session/limits.h"
#include "session/reasons.h"
#include "session/refusal.h"

#include <grpc/health/v1/health.pb.h>

#include <optional>

namespace holdfast {
namespace {

// A write may be under way; what changes meanwhile is written after it, the newest alone.
class HealthStreamReactor final : public HealthWatchReactor, public HealthWatch, public OpenStream {
 public:
  HealthStreamReactor(Edge& edge, grpc::CallbackServerContext& context, HealthWatches& watches,
                      HealthSubject subject)
      : edge_(edge), context_(context), watches_(watches), subject_(subject) {}

  void Start() {
    edge_.streams.Add(this);
    if (!watches_.Add(this)) FinishWith(ToGrpcStatus(Overloaded("health.watches"), {}));
  }

  [[nodiscard]] HealthSubject subject() const override { return subject_; }

  void Notify(bool serving) override {
    const absl::MutexLock lock(&mutex_);
    wanted_ = serving;
    Write();
  }

  void End() override {
    FinishWith(ToGrpcStatus(StoreUnavailable("this server is stopping", Fate::kNoEffect), {}));
  }

  // The end comes with the server's own: HealthWatches::End.
  void Drain() override {}

  void Tend(absl::Duration now) override {
    const absl::MutexLock lock(&mutex_);
    const bool waits = writing_ || finished_;
    if (!waits || now - since_ < edge_.streams.limits().write_timeout) return;
    since_ = now;
    context_.TryCancel();
  }

  void OnWriteDone(bool ok) override {
    const absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (ok) Write();  // also the last status before the end
    if (ending_ && !writing_) FinishNow();
  }

  void OnCancel() override { FinishWith(grpc::Status::CANCELLED); }

  void OnDone() override {
    edge_.streams.Remove(this);
    watches_.Remove(this);
    { const absl::MutexLock lock(&mutex_); }  // the last one to use it has let go
    delete this;
  }

 private:
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_ || written_ == wanted_) return;
    writing_ = true;
    since_ = edge_.clock.SinceBoot();
    written_ = wanted_;
    response_ = HealthResponse(*wanted_);
    StartWrite(&response_);
  }

  void FinishNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    finished_ = true;
    since_ = edge_.clock.SinceBoot();
    Finish(*ending_);
  }

  // The transport allows one write at a time and nothing after the end.
  void FinishWith(const grpc::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (ending_) return;
    ending_ = status;
    if (!writing_) FinishNow();
  }

  Edge& edge_;
  grpc::CallbackServerContext& context_;
  HealthWatches& watches_;
  const HealthSubject subject_;
  Bytes response_;  // of the write that is under way
  absl::Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<bool> wanted_ ABSL_GUARDED_BY(mutex_);
  std::optional<bool> written_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration since_ ABSL_GUARDED_BY(mutex_);  // since boot: of the last write, or the end
};

class Refused final : public HealthWatchReactor {
 public:
  explicit Refused(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

Bytes HealthResponse(bool serving) {
  grpc::health::v1::HealthCheckResponse response;
  response.set_status(serving ? grpc::health::v1::HealthCheckResponse::SERVING
                              : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  return ToBytes(response);
}

void HealthWatches::SetServing(HealthSubject subject, bool serving) {
  const absl::MutexLock lock(&mutex_);
  StateOf(subject) = serving;
  for (HealthWatch* watch : watches_) {
    if (watch->subject() == subject) watch->Notify(serving);
  }
}

bool HealthWatches::serving(HealthSubject subject) {
  const absl::MutexLock lock(&mutex_);
  return StateOf(subject);
}

bool HealthWatches::Add(HealthWatch* watch) {
  const absl::MutexLock lock(&mutex_);
  if (watches_.size() >= kHealthWatches) return false;
  watches_.insert(watch);
  watch->Notify(StateOf(watch->subject()));
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

HealthWatchReactor* StartHealthWatch(Edge& edge, grpc::CallbackServerContext& context,
                                     HealthWatches& watches, HealthSubject subject) {
  auto* reactor = new HealthStreamReactor(edge, context, watches, subject);
  reactor->Start();
  return reactor;
}

HealthWatchReactor* RefuseHealthWatch(const grpc::Status& status) { return new Refused(status); }

}  // namespace holdfast
