#include "server/rpc/write/append_journal_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "server/rpc/call/commit_batcher.h"
#include "server/rpc/call/stream_ends.h"
#include "server/rpc/write/journal_stream.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

constexpr char kAppendMethod[] = "AppendJournalStream";
// What the messages of one request may take, beside its texts.
constexpr size_t kBatchArenaBytes = kUnaryRequestBytes;

// A read, a parse, an append and a write may be under way at once, each at most once; JournalStream
// gives the next steps. The thread that has taken the last step must not touch the object again.
class AppendJournalReactor final : public grpc::ServerBidiReactor<Bytes, Bytes>,
                                   public OpenStream,
                                   private CommitBatcher::Member {
 public:
  AppendJournalReactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context)
      : edge_(edge),
        sessions_(sessions),
        context_(*context),
        call_(edge, *context,
              {.method = kAppendMethod, .session = "", .held_bytes = kIdleStreamBytes}),
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
  // A request as it came, and the memory that it takes.
  struct Unparsed {
    Bytes bytes;
    Admission::Ticket memory;
  };

  // Reports an event to the stream, and begins the steps that follow from it. Reads and writes
  // start under the lock, so that the stream does not end between the two; the transport answers on
  // threads of its own.
  template <typename Report>
  JournalStream::Steps Advance(Report report) {
    const absl::MutexLock lock(&mutex_);
    report(stream_);
    const JournalStream::Steps steps = stream_.Next();
    if (steps.write) {
      response_ = ToBytes(stream_.TakeAcknowledgement());
      write_began_ = edge_.clock.SinceBoot();
      call_.BeginReply();
      StartWrite(&response_);
    }
    if (steps.read) StartRead(&request_);
    return steps;
  }

  template <typename Report>
  void Proceed(Report report) {
    Act(Advance(report));
  }

  // Hands what is to be done to workers, and a small append to the batcher.
  void Act(const JournalStream::Steps& steps) {
    if (steps.finish) return End();
    const bool parsed = !steps.parse || edge_.pool.Submit([this] { Parse(); });
    const bool appended = steps.append == 0 || BeginAppend(steps.append);
    if (!parsed || !appended) Refuse(!parsed, !appended);
  }

  // False when the queue is full.
  [[nodiscard]] bool BeginAppend(size_t bytes) {
    if (IsBatched(bytes)) return edge_.batcher->Add(*this, bytes);
    return edge_.pool.Submit([this] { AppendHere(); });
  }
  [[nodiscard]] bool IsBatched(size_t bytes) const {
    return edge_.batcher != nullptr && bytes <= kBatchedRequestBytes;
  }

  // Ends the parse or the append that no worker was found for. Apart from Proceed, because a
  // template that hands itself a new function has no end.
  void Refuse(bool parse, bool append) {
    Proceed([&](JournalStream& stream) {
      const absl::Status overloaded = Overloaded("limits.queued_calls");
      stream.Fail(overloaded);
      if (parse) stream.Parsed();
      if (append) stream.Appended({}, overloaded);
    });
  }

  // A request counts from here on. While a worker parses those that came before, more may come: a
  // worker is called for all of them together.
  void TakeBytes() {
    const size_t bytes = request_.Length();
    CountMessage(edge_, context_, bytes);
    absl::StatusOr<Admission::Ticket> memory = edge_.admission.AdmitBytes(bytes);
    Proceed([&](JournalStream& stream) {
      mutex_.AssertHeld();
      active_at_ = edge_.clock.SinceBoot();
      Unparsed next;
      next.bytes.Swap(&request_);
      if (!stream.Arrived(bytes)) return;
      if (!memory.ok()) return stream.TookRequest(bytes, memory.status());
      next.memory = *std::move(memory);
      unparsed_.push_back(std::move(next));
    });
  }

  // On a worker. What can be appended now, and by itself, is appended here.
  void Parse() {
    std::deque<Unparsed> requests;
    {
      const absl::MutexLock lock(&mutex_);
      requests.swap(unparsed_);
    }
    std::vector<absl::StatusOr<AppendJournalCommand>> commands;
    commands.reserve(requests.size());
    for (Unparsed& request : requests) {
      commands.push_back(call_.RunPart([&] { return ParseRequest(request); }));
      if (!commands.back().ok()) break;
    }
    JournalStream::Steps steps = Advance([&](JournalStream& stream) {
      mutex_.AssertHeld();
      TakeRequests(requests, std::move(commands), stream);
    });
    const bool here = steps.append > 0 && !IsBatched(steps.append);
    if (here) steps.append = 0;
    Act(steps);
    if (here) AppendHere();
  }

  absl::StatusOr<AppendJournalCommand> ParseRequest(Unparsed& arrived) {
    const size_t bytes = arrived.bytes.Length();
    if (bytes > kUnaryRequestBytes) return TooLarge("request", kUnaryRequestBytes, bytes);
    Received<pb::AppendJournalStreamRequest> request;
    RETURN_IF_ERROR(Receive(arrived.bytes, kBatchArenaBytes, arrived.memory, request));
    ASSIGN_OR_RETURN(AppendJournalCommand command, requests_.Read(std::move(*request)));
    if (call_.facts().session.empty()) call_.NameSession(command.session.value());
    return command;
  }

  // The requests become entries that wait, and their memory theirs.
  void TakeRequests(std::deque<Unparsed>& requests,
                    std::vector<absl::StatusOr<AppendJournalCommand>> commands,
                    JournalStream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (size_t i = 0; i < commands.size(); ++i) {
      stream.TookRequest(requests[i].bytes.Length(), std::move(commands[i]));
    }
    stream.Parsed();
    requests.clear();
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

  void TakeBatch() {
    const absl::MutexLock lock(&mutex_);
    batch_ = stream_.TakeBatch();
  }

  // On a worker.
  void AppendHere() {
    TakeBatch();
    AppendAlone(false);
  }

  // On a worker, what no batch does or what one left alone.
  void AppendAlone(bool in_doubt) {
    absl::StatusOr<MutationResult> result;
    const absl::Status status = call_.RunAlone(in_doubt, [&] {
      result = sessions_.AppendJournal(call_.caller(), batch_);
      return result.status();
    });
    if (!status.ok()) result = status;
    Appended(result);
  }

  std::optional<GroupedChange> Decide() override {
    TakeBatch();
    const absl::Status status = call_.RunIfWanted([this] {
      prepared_ = sessions_.Prepare(call_.caller(), batch_);
      return absl::OkStatus();
    });
    if (!status.ok()) {
      Appended(status);
      return std::nullopt;
    }
    if (prepared_) return GroupedChange{.change = &prepared_->change, .span = call_.span()};
    AppendAgain(false);
    return std::nullopt;
  }

  void Settle(GroupedResult result) override {
    using Kind = GroupedResult::Kind;
    if (result.kind != Kind::kDone) return AppendAgain(result.kind == Kind::kInDoubt);
    Appended(call_.RunPart(
        [&] { return sessions_.Settle(batch_, *prepared_, std::move(result.result)); }));
  }

  void AppendAgain(bool in_doubt) {
    edge_.pool.SubmitAgain([this, in_doubt] { AppendAlone(in_doubt); });
  }

  void Appended(const absl::StatusOr<MutationResult>& result) {
    prepared_.reset();
    Proceed([&](JournalStream& stream) {
      mutex_.AssertHeld();
      stream.Appended(batch_, result);
      batch_ = AppendJournalCommand();
      active_at_ = edge_.clock.SinceBoot();
      HoldEntries(stream);
    });
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
      unparsed_.clear();
      entries_memory_ = Admission::Ticket();
    }
    Finish(call_.End(outcome));
  }

  Edge& edge_;
  Sessions& sessions_;
  grpc::CallbackServerContext& context_;
  Call call_;
  Bytes request_;   // of the read that is under way
  Bytes response_;  // of the write that is under way
  // The parse's alone.
  JournalRequests requests_;
  // The append's alone.
  AppendJournalCommand batch_;
  std::optional<PreparedChange> prepared_;
  absl::Mutex mutex_;
  JournalStream stream_ ABSL_GUARDED_BY(mutex_);
  std::deque<Unparsed> unparsed_ ABSL_GUARDED_BY(mutex_);
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
