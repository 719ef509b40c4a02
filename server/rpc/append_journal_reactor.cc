#include "server/rpc/append_journal_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/journal_stream.h"
#include "server/rpc/stream_ends.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/status_macros.h"
#include "session/thread_check.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <utility>

namespace holdfast {
namespace {

constexpr char kMethod[] = "AppendJournalStream";
// What the messages of one request may take, beside its texts.
constexpr size_t kArenaBytes = kUnaryRequestBytes;

// A read, a parse, an append and a write may be under way at once, each at most once; JournalStream
// says what comes next. Whoever has taken the last step must not touch the object again.
class AppendJournalReactor final : public grpc::ServerBidiReactor<Bytes, Bytes>, public OpenStream {
 public:
  AppendJournalReactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context)
      : edge_(edge),
        sessions_(sessions),
        context_(*context),
        call_(edge, *context, {.method = kMethod, .session = "", .held_bytes = kIdleStreamBytes}),
        requests_(edge.secrets),
        active_at_(edge.clock.SinceBoot()) {
    call_.DropDefaultDeadline();
  }

  void Start() {
    const absl::Status entered = call_.Enter();
    if (!entered.ok()) return Finish(call_.End(entered));
    edge_.streams.Add(this);
    Proceed([](JournalStream&) {});
  }

  void OnReadDone(bool ok) override {
    const TransportThread here;
    ok ? TakeBytes() : Proceed([](JournalStream& stream) { stream.TookEnd(); });
  }
  void OnWriteDone(bool ok) override {
    const TransportThread here;
    Proceed([&](JournalStream& stream) { stream.Written(ok); });
  }
  void OnDone() override {
    const TransportThread here;
    edge_.streams.Remove(this);
    delete this;
  }
  void Drain() override {
    Proceed([](JournalStream& stream) { stream.Drain(); });
  }
  void Tend(absl::Duration now) override {
    Proceed([&](JournalStream& stream) {
      mutex_.AssertHeld();
      EndSilence(now, stream);
    });
  }

 private:
  // Tells the stream what happened, and begins what follows from it. Reads and writes start under
  // the lock, so that the stream does not end between the two; the transport answers on threads of
  // its own.
  template <typename Tell>
  JournalStream::Steps Advance(Tell tell) {
    const absl::MutexLock lock(&mutex_);
    tell(stream_);
    const JournalStream::Steps steps = stream_.Next();
    if (steps.write) {
      response_ = ToBytes(stream_.TakeAcknowledgement());
      write_began_ = edge_.clock.SinceBoot();
      StartWrite(&response_);
    }
    if (steps.read) StartRead(&request_);
    return steps;
  }

  template <typename Tell>
  void Proceed(Tell tell) {
    const JournalStream::Steps steps = Advance(tell);
    if (steps.finish) return End();
    if (steps.append && !edge_.pool.Submit([this] { Append(); })) RefuseBatch();
  }

  // The bytes of a request: they count from here on, and are parsed by a worker.
  void TakeBytes() {
    CountMessage(edge_, context_, request_.Length());
    bool wanted = false;
    absl::Status taken;
    {
      const absl::MutexLock lock(&mutex_);
      wanted = stream_.Arrived();
      active_at_ = edge_.clock.SinceBoot();
    }
    if (!wanted) return;
    absl::StatusOr<Admission::Ticket> memory = edge_.admission.AdmitBytes(request_.Length());
    if (memory.ok()) {
      request_memory_ = *std::move(memory);
      if (edge_.pool.Submit([this] { Parse(); })) return;
      taken = Overloaded("limits.queued_calls");
    } else {
      taken = memory.status();
    }
    Proceed([&](JournalStream& stream) {
      mutex_.AssertHeld();
      TakeRequest(taken, stream);
    });
  }

  // On a worker. What can be appended now is appended here.
  void Parse() {
    absl::StatusOr<AppendJournalCommand> request = call_.RunPart([this] { return ParseRequest(); });
    const JournalStream::Steps steps = Advance([&](JournalStream& stream) {
      mutex_.AssertHeld();
      TakeRequest(std::move(request), stream);
    });
    if (steps.finish) return End();
    if (steps.append) Append();
  }

  absl::StatusOr<AppendJournalCommand> ParseRequest() {
    if (request_.Length() > kUnaryRequestBytes) {
      return TooLarge("request", kUnaryRequestBytes, request_.Length());
    }
    Received<pb::AppendJournalStreamRequest> request;
    RETURN_IF_ERROR(Receive(request_, kArenaBytes, request_memory_, request));
    ASSIGN_OR_RETURN(AppendJournalCommand command, requests_.Read(*request));
    if (call_.facts().session.empty()) call_.NameSession(command.session.value());
    return command;
  }

  // The request becomes entries that wait, and its memory theirs.
  void TakeRequest(absl::StatusOr<AppendJournalCommand> request, JournalStream& stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    stream.TookRequest(std::move(request));
    request_.Clear();
    request_memory_ = Admission::Ticket();
    HoldEntries(stream);
  }

  // The memory share follows what waits and what is being appended.
  void HoldEntries(JournalStream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const size_t bytes = stream.HeldBytes();
    if (bytes == entries_memory_.bytes()) return;
    absl::Status held;
    if (entries_memory_.bytes() > 0) {
      held = entries_memory_.Resize(bytes);
    } else {
      absl::StatusOr<Admission::Ticket> memory = edge_.admission.AdmitBytes(bytes);
      held = memory.status();
      if (memory.ok()) entries_memory_ = *std::move(memory);
    }
    stream.Fail(held);
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
    const absl::StatusOr<Done> done = call_.RunPart([&] { return AppendIfWanted(batch); });
    Proceed([&](JournalStream& stream) {
      mutex_.AssertHeld();
      stream.Appended(batch, done);
      active_at_ = edge_.clock.SinceBoot();
      HoldEntries(stream);
    });
  }

  absl::StatusOr<Done> AppendIfWanted(const AppendJournalCommand& batch) {
    RETURN_IF_ERROR(call_.StillWanted());
    return sessions_.AppendJournal(call_.caller(), batch);
  }

  // Ends a stream whose client sends nothing, or reads nothing; cuts one off whose client does not
  // even read its end.
  void EndSilence(absl::Duration now, JournalStream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const StreamLimits& limits = edge_.streams.limits();
    const bool unread = stream.Writing() && now - write_began_ >= limits.write_timeout;
    if (stream.Finished()) {
      if (unread) context_.TryCancel();
      return;
    }
    if (unread) {
      write_began_ = now;
      // Entries behind the last acknowledgement that the client has seen may be stored.
      stream.FailWriting(ClientReadNothing("unknown"));
    }
    if (stream.Idle() && now - active_at_ >= limits.idle) stream.Fail(ClientSentNothing());
  }

  void End() {
    absl::Status outcome;
    {
      const absl::MutexLock lock(&mutex_);
      outcome = stream_.Outcome();
      entries_memory_ = Admission::Ticket();
    }
    Finish(call_.End(outcome));
  }

  Edge& edge_;
  Sessions& sessions_;
  grpc::CallbackServerContext& context_;
  Call call_;
  Bytes request_;   // of the read that is under way, then of the parse
  Bytes response_;  // of the write that is under way
  // The parse's alone.
  JournalRequests requests_;
  Admission::Ticket request_memory_;
  absl::Mutex mutex_;
  JournalStream stream_ ABSL_GUARDED_BY(mutex_);
  Admission::Ticket entries_memory_ ABSL_GUARDED_BY(mutex_);
  absl::Duration active_at_ ABSL_GUARDED_BY(mutex_);    // since boot: the client sent, or waited
  absl::Duration write_began_ ABSL_GUARDED_BY(mutex_);  // since boot
};

}  // namespace

grpc::ServerBidiReactor<Bytes, Bytes>* StartAppendJournalStream(
    Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context) {
  const TransportThread here;
  auto* reactor = new AppendJournalReactor(edge, sessions, context);
  reactor->Start();
  return reactor;
}

}  // namespace holdfast
