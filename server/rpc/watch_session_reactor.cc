#include "server/rpc/watch_session_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/watch_reader.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast {
namespace {

// One page as the store answers it and once more as messages.
constexpr size_t kHeldBytes = 2 * kWatchPageBytes;

absl::Status WatchEnded(const char* message, const char* cause, const std::string& cursor) {
  return Refusal(Reason::kWatchEnded, message)
      .With("cause", cause)
      .With("cursor", cursor)
      .RetryAfter(kWatchRetry);
}

// Reads a page on a worker, writes it message by message, reads the next one; at the end of the
// events it waits to be woken. `state_` says what is under way, and whoever changes it under the
// lock has the right to the next step. Writing and handing to a worker are begun under the lock;
// the stream is finished behind it, and after that the object is not touched again.
class WatchSessionReactor final : public grpc::ServerWriteReactor<Bytes>,
                                  public Watcher,
                                  public std::enable_shared_from_this<WatchSessionReactor> {
 public:
  WatchSessionReactor(Edge& edge, Sessions& sessions, WatchHub& hub,
                      grpc::CallbackServerContext* context,
                      const Opening<pb::WatchSessionRequest>& request)
      : edge_(edge),
        hub_(hub),
        context_(*context),
        call_(edge, *context,
              {.method = "WatchSession",
               .session = (*request).session_id(),
               .request_bytes = request.bytes()}),
        reader_(sessions, call_.caller(), *request) {
    call_.DropDefaultDeadline();
  }

  // Lives from here until the transport is done with it, or the worker that reads for it, whichever
  // is later.
  void Start(const absl::Status& parsed) {
    {
      const absl::MutexLock lock(&mutex_);
      self_ = shared_from_this();
    }
    absl::Status status = call_.Enter();
    if (status.ok()) status = parsed;
    if (status.ok() && !Submit()) status = Overloaded("limits.queued_calls");
    if (status.ok()) return;
    {
      const absl::MutexLock lock(&mutex_);
      state_ = State::kEnded;
    }
    Finish(call_.End(status));
  }

  void Wake() override {
    const absl::MutexLock lock(&mutex_);
    woken_ = true;
    if (state_ == State::kIdle) ReadOn();
  }

  void Tend(absl::Duration now) override {
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      ending = LookAfter(now);
    }
    Conclude(ending);
  }

  void Leave() override {
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      leaving_ = true;
      if (state_ == State::kIdle) ending = EndWith(Draining());
    }
    Conclude(ending);
  }

  void OnWriteDone(bool ok) override {
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      stuck_ = false;
      if (state_ == State::kWriting) ending = AfterWrite(ok);
    }
    Conclude(ending);
  }

  void OnCancel() override {
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      gone_ = true;
      if (state_ == State::kIdle) ending = EndWith(Gone());
    }
    Conclude(ending);
  }

  void OnDone() override {
    hub_.Remove(reader_.key(), *this);
    std::shared_ptr<WatchSessionReactor> self;
    const absl::MutexLock lock(&mutex_);
    self = std::move(self_);
    done_ = true;
  }

 private:
  enum class State : uint8_t {
    kReading,  // a worker reads, or will
    kWriting,  // the transport has a message
    kIdle,     // nothing to send
    kEnded,    // the status is on its way
  };
  // The status to finish with, once the lock is given back.
  using Ending = std::optional<absl::Status>;

  // The worker keeps the object for as long as it reads: once it has begun a write and given the
  // lock back, the stream may end before it returns.
  bool Submit() {
    return edge_.pool.Submit([self = shared_from_this()] { self->Read(); });
  }

  // On a worker: nobody else finishes the stream meanwhile.
  void Read() {
    absl::StatusOr<WatchReader::Page> page = ReadPage();
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      ending = AfterRead(std::move(page));
    }
    Conclude(ending);
  }

  absl::StatusOr<WatchReader::Page> ReadPage() {
    absl::Status status = call_.StillWanted();
    if (status.ok() && !opened_) {
      status = reader_.Open();
      if (status.ok()) status = hub_.Add(reader_.key(), shared_from_this());
      if (!status.ok()) return status;
      opened_ = true;
      const absl::MutexLock lock(&mutex_);
      cursor_ = reader_.Cursor();
    }
    if (!status.ok()) return status;
    absl::StatusOr<Admission::Ticket> memory = edge_.admission.AdmitBytes(kHeldBytes);
    // A watch that began is not ended by load: it looks again at the next beat.
    if (!memory.ok()) return WatchReader::Page();
    memory_ = *std::move(memory);
    return reader_.Next();
  }

  Ending AfterRead(absl::StatusOr<WatchReader::Page> page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!page.ok()) return EndWith(page.status());
    if (gone_) return EndWith(Gone());
    if (leaving_) return EndWith(Draining());
    page_ = *std::move(page);
    written_ = 0;
    const bool due = page_.messages.empty() ? progress_due_ || !caught_up_ : !caught_up_;
    if (page_.end && !page_.last && due) {
      page_.messages.push_back(reader_.Progress());
      caught_up_ = true;
    }
    if (page_.messages.empty()) return AfterPage();
    WriteNext();
    return std::nullopt;
  }

  Ending AfterWrite(bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!ok || gone_) return EndWith(Gone());
    if (leaving_) return EndWith(Draining());
    if (written_ == page_.messages.size()) return AfterPage();
    WriteNext();
    return std::nullopt;
  }

  Ending AfterPage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (page_.last) return EndWith(absl::OkStatus());
    const bool more = !page_.end && !page_.messages.empty();
    // Without memory for it nothing was read: somebody must look again, but not at once.
    if (!page_.end && page_.messages.empty()) woken_ = true;
    const bool again = more || (page_.end && woken_);
    LetGo();
    state_ = State::kIdle;
    if (again) ReadOn();
    return std::nullopt;
  }

  void ReadOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    woken_ = false;
    state_ = State::kReading;
    if (Submit()) return;
    // No worker will be free soon: the next beat tries again.
    state_ = State::kIdle;
    woken_ = true;
  }

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state_ = State::kWriting;
    stuck_ = true;
    progress_due_ = false;
    sent_at_ = edge_.clock.SinceBoot();
    const pb::WatchSessionResponse& next = page_.messages[written_++];
    cursor_ = next.cursor();
    writing_ = ToBytes(next);
    StartWrite(&writing_);
  }

  Ending LookAfter(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const WatchLimits& limits = hub_.limits();
    const bool late = now - sent_at_ >= limits.write_timeout;
    if (state_ == State::kWriting && late) {
      sent_at_ = now;
      return EndWith(WatchEnded("this client reads too slowly", "slow", cursor_));
    }
    if (state_ == State::kEnded && stuck_ && late && !done_) context_.TryCancel();
    if (state_ != State::kIdle) return std::nullopt;
    if (now - sent_at_ >= limits.progress) progress_due_ = true;
    if (woken_ || progress_due_) ReadOn();
    return std::nullopt;
  }

  Ending EndWith(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state_ = State::kEnded;
    LetGo();
    return status;
  }

  // Frees the page and its share of the memory budget.
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    page_ = WatchReader::Page();
    memory_ = Admission::Ticket();
  }

  void Conclude(const Ending& ending) {
    if (ending) Finish(call_.End(*ending));
  }

  [[nodiscard]] absl::Status Draining() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return WatchEnded("this server is stopping", "draining", cursor_);
  }

  [[nodiscard]] absl::Status Gone() const {
    absl::Status why = call_.StillWanted();
    return why.ok() ? Refusal(Reason::kCancelled, "the reader went away") : why;
  }

  Edge& edge_;
  WatchHub& hub_;
  grpc::CallbackServerContext& context_;
  Call call_;
  // The reading worker's alone.
  WatchReader reader_;
  bool opened_ = false;

  absl::Mutex mutex_;
  std::shared_ptr<WatchSessionReactor> self_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_) = State::kReading;
  WatchReader::Page page_ ABSL_GUARDED_BY(mutex_);
  Admission::Ticket memory_;                    // of the page; whoever reads or writes it
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;  // of the page, the one under way included
  Bytes writing_ ABSL_GUARDED_BY(mutex_);
  std::string cursor_ ABSL_GUARDED_BY(mutex_);      // behind the last message
  absl::Duration sent_at_ ABSL_GUARDED_BY(mutex_);  // since boot; of the last message
  bool stuck_ ABSL_GUARDED_BY(mutex_) = false;      // the transport has not taken it yet
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;      // look once more before waiting
  bool caught_up_ ABSL_GUARDED_BY(mutex_) = false;  // the first progress message was sent
  bool progress_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerWriteReactor<Bytes>* StartWatchSession(Edge& edge, Sessions& sessions, WatchHub& hub,
                                                   grpc::CallbackServerContext* context,
                                                   const Bytes& request) {
  const Opening<pb::WatchSessionRequest> opening(request);
  const auto reactor = std::make_shared<WatchSessionReactor>(edge, sessions, hub, context, opening);
  reactor->Start(opening.parsed());
  return reactor.get();
}

}  // namespace holdfast
