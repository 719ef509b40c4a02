#include "server/rpc/reflection_reactor.h"

#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "server/rpc/call/admission.h"
#include "server/rpc/call/status.h"
#include "server/rpc/call/stream_ends.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>

namespace holdfast {
namespace {

using Request = grpc::reflection::v1alpha::ServerReflectionRequest;

// Of the memory that a request of kProbeRequestBytes may become.
constexpr size_t kParsedBytes = kMiB;

// A read, the work of a worker and a write follow one another.
class ReflectionStreamReactor final : public grpc::ServerBidiReactor<Bytes, Bytes>,
                                      public OpenStream {
 public:
  ReflectionStreamReactor(Edge& edge, grpc::CallbackServerContext& context,
                          const std::vector<std::string>& services, std::atomic<size_t>& streams)
      : edge_(edge), context_(context), services_(services), streams_(streams) {}

  void Start() {
    edge_.streams.Add(this);
    const absl::MutexLock lock(&mutex_);
    if (streams_.fetch_add(1) < kReflectionStreams) {
      Read();
    } else {
      End(Overloaded("reflection.streams"));
    }
  }

  void OnReadDone(bool ok) override {
    const TransportThread here;
    const absl::MutexLock lock(&mutex_);
    if (state_ != State::kReading) return;  // ended because nothing came
    if (!ok) {
      CountIfReset();
      return End(absl::OkStatus());
    }
    CountMessage(edge_, context_, request_.Length());
    asked_ = true;
    state_ = State::kWorking;
    if (!edge_.pool.Submit([this] { Answer(); })) End(Overloaded("limits.queued_calls"));
  }

  void OnWriteDone(bool ok) override {
    const TransportThread here;
    const absl::MutexLock lock(&mutex_);
    if (state_ != State::kWriting) return;
    ok ? Read() : End(Refusal(Reason::kCancelled, "the reader went away"));
  }

  void OnDone() override {
    edge_.streams.Remove(this);
    streams_.fetch_sub(1);
    { const absl::MutexLock lock(&mutex_); }  // the last one to use it has let go
    delete this;
  }

  // A question that was asked is answered while the server drains.
  void Drain() override {}

  void Tend(absl::Duration now) override {
    const StreamLimits& limits = edge_.streams.limits();
    const absl::MutexLock lock(&mutex_);
    if (state_ == State::kReading && now - since_ >= limits.idle) {
      End(ClientSentNothing());
    } else if ((state_ == State::kWriting || state_ == State::kEnded) &&
               now - since_ >= limits.write_timeout) {
      since_ = now;
      context_.TryCancel();
    }
  }

 private:
  enum class State : uint8_t { kReading, kWorking, kWriting, kEnded };

  void Enter(State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state_ = state;
    since_ = edge_.clock.SinceBoot();
  }

  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Enter(State::kReading);
    StartRead(&request_);
  }

  // On a worker.
  void Answer() {
    const absl::Status answered = Reflected();
    const absl::MutexLock lock(&mutex_);
    if (!answered.ok()) return End(answered);
    Enter(State::kWriting);
    StartWrite(&response_);
  }

  absl::Status Reflected() {
    if (request_.Length() > kProbeRequestBytes) {
      return TooLarge("request", kProbeRequestBytes, request_.Length());
    }
    Received<Request> request;
    RETURN_IF_ERROR(request.Parse(request_, kParsedBytes));
    response_ = ToBytes(Reflect(services_, *request));
    return absl::OkStatus();
  }

  void End(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Enter(State::kEnded);
    Finish(status.ok() ? grpc::Status::OK : ToGrpcStatus(RefusalOf(status), {}));
  }

  // A stream that is given up before anything was asked on it.
  void CountIfReset() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (edge_.resets == nullptr || asked_ || !context_.IsCancelled()) return;
    edge_.resets->Count(context_.peer(), edge_.clock.SinceBoot());
  }

  Edge& edge_;
  grpc::CallbackServerContext& context_;
  const std::vector<std::string>& services_;
  std::atomic<size_t>& streams_;
  Bytes request_;
  Bytes response_;
  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kWorking;
  absl::Duration since_ ABSL_GUARDED_BY(mutex_);  // since boot: when the state began
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerBidiReactor<Bytes, Bytes>* StartReflection(Edge& edge,
                                                       grpc::CallbackServerContext& context,
                                                       const std::vector<std::string>& services,
                                                       std::atomic<size_t>& streams) {
  auto* const reactor = new ReflectionStreamReactor(edge, context, services, streams);
  reactor->Start();
  return reactor;
}

}  // namespace holdfast
