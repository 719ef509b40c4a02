#include "server/rpc/watch/watch_session_reactor.h"

#include "holdfast/v1/session_service.pb.h"
#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "server/rpc/watch/watch_feed.h"
#include "server/rpc/watch/watch_start.h"
#include "session/limits.h"
#include "session/refusal.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast {
namespace {

constexpr char kWatchMethod[] = "WatchSession";

absl::Status WatchEnded(const char* message, const char* cause, const std::string& cursor) {
  return Refusal(Reason::kWatchEnded, message)
      .With("cause", cause)
      .With("cursor", cursor)
      .RetryAfter(kWatchRetry);
}

// Looks for the next event on a worker of the deliveries, writes it, looks for the next one; at the
// end of the events it waits to be woken. All watchers of a session share what is written: the
// reactor holds one message, and nothing while it waits. `state_` says what is under way. The
// thread that changes it under the lock has the right to the next step. Writing and handing to a
// worker are begun under the lock; the stream is finished after the lock was released, and then the
// object is not touched again.
class WatchSessionReactor final : public grpc::ServerWriteReactor<Bytes>,
                                  public Watcher,
                                  public std::enable_shared_from_this<WatchSessionReactor> {
 public:
  WatchSessionReactor(Edge& edge, Sessions& sessions, WatchHub& hub,
                      grpc::CallbackServerContext* context, const Bytes& request)
      : edge_(edge),
        hub_(hub),
        context_(*context),
        call_(edge, *context,
              {.method = kWatchMethod,
               .session = "",
               .request_bytes = request.Length(),
               .has_request = request.Valid()}),
        sessions_(sessions),
        request_(request) {
    call_.DropDefaultDeadline();
  }

  // Lives from here until the transport is done with it, or the worker that reads for it, whichever
  // is later.
  void Start() {
    {
      const absl::MutexLock lock(&mutex_);
      self_ = shared_from_this();
    }
    absl::Status status = call_.Enter();
    // The first look is a call as any other.
    const auto open = [self = shared_from_this()] { self->Open(); };
    if (status.ok() && !edge_.pool.Submit(open)) status = Overloaded("limits.queued_calls");
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
    if (caught_up_ && !behind_) behind_ = edge_.clock.Wall();
    if (state_ == State::kIdle) LookOn();
  }

  void Resume() override {
    const absl::MutexLock lock(&mutex_);
    LookOn();
  }

  void Tend(absl::Duration now) override {
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      ending = LookAfter(now);
    }
    if (ending) Conclude(*ending);
  }

  absl::Duration Lag(absl::Time now) override {
    const absl::MutexLock lock(&mutex_);
    return behind_ ? std::max(now - *behind_, absl::ZeroDuration()) : absl::ZeroDuration();
  }

  void Leave() override {
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      leaving_ = true;
      if (state_ == State::kIdle) ending = EndWith(Draining());
    }
    if (ending) Conclude(*ending);
  }

  void OnWriteDone(bool ok) override {
    const TransportThread here;
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      stuck_ = false;
      if (state_ == State::kWriting) ending = AfterWrite(ok);
    }
    if (ending) Conclude(*ending);
  }

  void OnCancel() override {
    const TransportThread here;
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      gone_ = true;
      if (state_ == State::kIdle) ending = EndWith(Gone());
    }
    if (ending) Conclude(*ending);
  }

  void OnDone() override {
    const TransportThread here;
    if (feed_ != nullptr) hub_.Remove(feed_->key(), *this);
    std::shared_ptr<WatchSessionReactor> self;
    const absl::MutexLock lock(&mutex_);
    self = std::move(self_);
    done_ = true;
  }

 private:
  enum class State : uint8_t {
    kLooking,  // a worker looks for the next event, or will
    kWriting,  // the transport has a message
    kIdle,     // nothing to send
    kEnded,    // the status is on its way
  };
  // The status to finish with, after the lock was released.
  using Ending = std::optional<absl::Status>;

  // On a worker, once.
  void Open() {
    absl::Status status = call_.StillWanted();
    if (status.ok()) status = call_.RunPart([this] { return Join(); });
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      if (!status.ok()) {
        ending = EndWith(status);
      } else {
        cursor_at_ = place_.after;
      }
    }
    if (ending) return Conclude(*ending);
    Look();
  }

  absl::Status Join() {
    Received<pb::WatchSessionRequest> request;
    RETURN_IF_ERROR(call_.Receive(request_, request));
    call_.NameSession((*request).session_id());
    ASSIGN_OR_RETURN(const WatchStart start, ReadWatchStart(sessions_, call_.caller(), *request));
    request_.Clear();
    call_.DropRequest();
    ASSIGN_OR_RETURN(feed_, hub_.Add(start, shared_from_this()));
    place_ = {.after = start.after, .known = start.newest};
    return absl::OkStatus();
  }

  // On a worker: nothing else finishes the stream meanwhile.
  void Look() {
    const absl::StatusOr<WatchFeed::Step> step =
        call_.RunPart([this]() -> absl::StatusOr<WatchFeed::Step> {
          RETURN_IF_ERROR(call_.StillWanted());
          return feed_->Next(place_, shared_from_this());
        });
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      ending = AfterLook(step);
    }
    if (ending) Conclude(*ending);
  }

  Ending AfterLook(const absl::StatusOr<WatchFeed::Step>& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    using Kind = WatchFeed::Step::Kind;
    if (!step.ok()) return EndWith(step.status());
    if (step->kind == Kind::kPending) return std::nullopt;  // Resume may have been called by now
    if (gone_) return EndWith(Gone());
    if (leaving_) return EndWith(Draining());
    switch (step->kind) {
      case Kind::kSend:
        place_.after = step->event->seq;
        if (caught_up_) behind_ = step->event->time;
        Send(step->event->message);
        break;
      case Kind::kOver:
        return EndWith(absl::OkStatus());
      case Kind::kNoRoom:
        // The next beat looks again.
        woken_ = true;
        state_ = State::kIdle;
        break;
      default:
        AtEnd();
    }
    return std::nullopt;
  }

  // Every event has been sent.
  void AtEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    behind_.reset();
    if (!caught_up_ || progress_due_) {
      caught_up_ = true;
      Send(Progress());
      return;
    }
    state_ = State::kIdle;
    if (woken_) LookOn();
  }

  Ending AfterWrite(bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_.Clear();
    if (!ok || gone_) return EndWith(Gone());
    if (leaving_) return EndWith(Draining());
    LookOn();
    return std::nullopt;
  }

  // The worker keeps the object for as long as it looks: once it has begun a write and given the
  // lock back, the stream may end before it returns.
  void LookOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    woken_ = false;
    state_ = State::kLooking;
    if (hub_.Deliver([self = shared_from_this()] { self->Look(); })) return;
    // No worker will be free soon: the next beat tries again.
    state_ = State::kIdle;
    woken_ = true;
  }

  void Send(const Bytes& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state_ = State::kWriting;
    stuck_ = true;
    progress_due_ = false;
    sent_at_ = edge_.clock.SinceBoot();
    cursor_at_ = place_.after;
    writing_ = message;  // shares its bytes
    call_.BeginReply();
    StartWrite(&writing_);
  }

  [[nodiscard]] Bytes Progress() const {
    pb::WatchSessionResponse message;
    message.mutable_progress()->set_last_seq(place_.after.value());
    message.set_cursor(feed_->cursors().Make(place_.after));
    return ToBytes(message);
  }

  Ending LookAfter(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const WatchLimits& limits = hub_.limits();
    const bool late = now - sent_at_ >= limits.write_timeout;
    if (state_ == State::kWriting && late) {
      sent_at_ = now;
      return EndWith(WatchEnded("this client reads too slowly", "slow", Cursor()));
    }
    if (state_ == State::kEnded && stuck_ && late && !done_) context_.TryCancel();
    if (state_ != State::kIdle) return std::nullopt;
    if (now - sent_at_ >= limits.progress) progress_due_ = true;
    if (woken_ || progress_due_) LookOn();
    return std::nullopt;
  }

  Ending EndWith(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state_ = State::kEnded;
    return status;
  }

  // For the thread that was given an ending. For any other this object may be gone as soon as the
  // lock is given back.
  void Conclude(const absl::Status& ending) { Finish(call_.End(ending)); }

  [[nodiscard]] absl::Status Draining() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return WatchEnded("this server is stopping", "draining", Cursor());
  }

  // Behind the last message that was sent.
  [[nodiscard]] std::string Cursor() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return feed_ == nullptr ? "" : feed_->cursors().Make(cursor_at_);
  }

  [[nodiscard]] absl::Status Gone() const {
    absl::Status why = call_.StillWanted();
    return why.ok() ? Refusal(Reason::kCancelled, "the reader went away") : why;
  }

  Edge& edge_;
  WatchHub& hub_;
  grpc::CallbackServerContext& context_;
  Call call_;
  Sessions& sessions_;
  Bytes request_;  // until it is parsed
  // Of the worker that looks; they change in no other state.
  std::shared_ptr<WatchFeed> feed_;
  WatchFeed::Place place_;

  absl::Mutex mutex_;
  std::shared_ptr<WatchSessionReactor> self_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_) = State::kLooking;
  Bytes writing_ ABSL_GUARDED_BY(mutex_);
  EventSeq cursor_at_ ABSL_GUARDED_BY(mutex_);      // behind the last message
  absl::Duration sent_at_ ABSL_GUARDED_BY(mutex_);  // since boot; of the last message
  bool stuck_ ABSL_GUARDED_BY(mutex_) = false;      // the transport has not taken it yet
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;      // look once more before waiting
  bool caught_up_ ABSL_GUARDED_BY(mutex_) = false;  // the first progress message was sent
  bool progress_due_ ABSL_GUARDED_BY(mutex_) = false;
  // When the oldest event happened that was not sent, as far as is known.
  std::optional<absl::Time> behind_ ABSL_GUARDED_BY(mutex_);
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerWriteReactor<Bytes>* StartWatchSession(Edge& edge, Sessions& sessions, WatchHub& hub,
                                                   grpc::CallbackServerContext* context,
                                                   const Bytes& request) {
  const TransportThread here;
  const auto reactor = std::make_shared<WatchSessionReactor>(edge, sessions, hub, context, request);
  reactor->Start();
  return reactor.get();
}

}  // namespace holdfast
