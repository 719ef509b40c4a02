#include "server/rpc/append_journal_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/journal_stream.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/status_macros.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>

namespace holdfast {
namespace {

// What waits, the batch that is being appended, and the request that was read last.
constexpr size_t kHeldBytes = 2 * kUnaryRequestBytes;
// What that request may become in memory.
constexpr size_t kParsedBytes = kUnaryRequestBytes;

// A read, an append and a write may be under way at once, each at most once; JournalStream says
// what comes next. Whoever has taken the last step must not touch the object again.
class AppendJournalReactor final : public grpc::ServerBidiReactor<Bytes, Bytes>, public OpenStream {
 public:
  AppendJournalReactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context)
      : edge_(edge),
        sessions_(sessions),
        call_(edge, *context,
              {.method = "AppendJournalStream", .session = "", .held_bytes = kHeldBytes}),
        stream_(edge.secrets) {
    call_.DropDefaultDeadline();
  }

  void Start() {
    const absl::Status entered = call_.Enter();
    if (!entered.ok()) return Finish(call_.End(entered));
    edge_.streams.Add(this);
    Proceed([](JournalStream&) {});
  }

  void OnReadDone(bool ok) override {
    ok ? TakeRequest() : Proceed([](JournalStream& stream) { stream.TookEnd(); });
  }
  void OnWriteDone(bool ok) override {
    Proceed([&](JournalStream& stream) { stream.Written(ok); });
  }
  void OnDone() override {
    edge_.streams.Remove(this);
    delete this;
  }
  void Drain() override {
    Proceed([](JournalStream& stream) { stream.Drain(); });
  }

 private:
  // Tells the stream what happened, and takes the steps that follow from it. Reads and writes start
  // under the lock, so that nobody ends the stream between the two; the transport answers on
  // threads of its own.
  template <typename Tell>
  void Proceed(Tell tell) {
    JournalStream::Steps steps;
    {
      const absl::MutexLock lock(&mutex_);
      tell(stream_);
      steps = stream_.Next();
      if (steps.write) {
        response_ = ToBytes(stream_.TakeAcknowledgement());
        StartWrite(&response_);
      }
      if (steps.read) StartRead(&request_);
    }
    if (steps.finish) return End();
    if (steps.append && !edge_.pool.Submit([this] { Append(); })) RefuseBatch();
  }

  void TakeRequest() {
    Received<pb::AppendJournalStreamRequest> request;
    const absl::Status parsed = ParseRequest(request);
    Proceed([&](JournalStream& stream) {
      parsed.ok() ? stream.TookRequest(*request) : stream.TookNothing(parsed);
    });
  }

  absl::Status ParseRequest(Received<pb::AppendJournalStreamRequest>& request) const {
    if (request_.Length() > kUnaryRequestBytes) {
      return TooLarge("request", kUnaryRequestBytes, request_.Length());
    }
    return request.Parse(request_, kParsedBytes);
  }

  // Apart from Proceed, because a template that hands itself a new function has no end.
  void RefuseBatch() {
    Proceed([](JournalStream& stream) { stream.Appended({}, Overloaded("limits.queued_calls")); });
  }

  void Append() {
    AppendJournalCommand batch;
    {
      const absl::MutexLock lock(&mutex_);
      batch = stream_.TakeBatch();
    }
    const absl::StatusOr<Done> done = AppendIfWanted(batch);
    Proceed([&](JournalStream& stream) { stream.Appended(batch, done); });
  }

  absl::StatusOr<Done> AppendIfWanted(const AppendJournalCommand& batch) {
    RETURN_IF_ERROR(call_.StillWanted());
    return sessions_.AppendJournal(call_.caller(), batch);
  }

  void End() {
    absl::Status outcome;
    {
      const absl::MutexLock lock(&mutex_);
      outcome = stream_.Outcome();
      call_.NameSession(stream_.session());
    }
    Finish(call_.End(outcome));
  }

  Edge& edge_;
  Sessions& sessions_;
  Call call_;
  Bytes request_;   // of the read that is under way
  Bytes response_;  // of the write that is under way
  absl::Mutex mutex_;
  JournalStream stream_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

grpc::ServerBidiReactor<Bytes, Bytes>* StartAppendJournalStream(
    Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context) {
  auto* reactor = new AppendJournalReactor(edge, sessions, context);
  reactor->Start();
  return reactor;
}

}  // namespace holdfast
