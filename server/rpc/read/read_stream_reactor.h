// A call that streams what it reads: writes one response at a time, and holds no worker while the
// client takes its time.
#ifndef HOLDFAST_SERVER_RPC_READ_READ_STREAM_REACTOR_H_
#define HOLDFAST_SERVER_RPC_READ_READ_STREAM_REACTOR_H_

#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "server/rpc/call/call.h"
#include "server/rpc/call/stream_ends.h"
#include "server/rpc/call/wire.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/sessions.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast {

// A page while it is read: as the store answers it, and once more as responses.
inline constexpr size_t kHeldPagesBytes = 2 * kPageBytes;

// While the transport writes the responses of one page, one after the other, a worker reads and
// packs the next page: the two run in parallel and synchronize at the end of a page. The stream
// ends when no worker reads and the transport has nothing, or no longer takes it. Each page holds
// its own share of the memory budget.
//
// A Kind has the type of the Request, the name of the method (kMethod), the id of the session that
// a request names (SessionOf), and a Stream that is made of Sessions, caller and request. Its Next
// answers the responses of the next page, none at the end, and its HeldBytes what it keeps between
// two pages.
template <typename Kind>
class ReadStreamReactor final : public grpc::ServerWriteReactor<Bytes>, public OpenStream {
 public:
  ReadStreamReactor(Edge& edge, Sessions& sessions, grpc::CallbackServerContext* context,
                    const Bytes& request)
      : edge_(edge),
        sessions_(sessions),
        context_(*context),
        request_(request),
        call_(edge, *context,
              {.method = Kind::kMethod,
               .session = "",
               .request_bytes = request.Length(),
               .held_bytes = kIdleStreamBytes,
               .has_request = request.Valid()}) {
    call_.DropDefaultDeadline();
  }

  void Start() {
    Ending ending;
    if (const absl::Status entered = call_.Enter(); !entered.ok()) {
      ending = entered;
    } else {
      edge_.streams.Add(this);
      const absl::MutexLock lock(&mutex_);
      ReadAhead();
      ending = SwitchPages();
    }
    if (ending) Conclude(*ending);
  }

  void OnWriteDone(bool ok) override {
    const TransportThread here;
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      ending = AfterWrite(ok);
    }
    if (ending) Conclude(*ending);
  }

  void OnDone() override {
    const TransportThread here;
    edge_.streams.Remove(this);
    { const absl::MutexLock lock(&mutex_); }  // the last one to use it has let go
    delete this;
  }

  // What has begun may end while the server drains.
  void Drain() override {}

  void Tend(absl::Duration now) override {
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      ending = LookAfter(now);
    }
    if (ending) Conclude(*ending);
  }

 private:
  struct Page {
    std::vector<Bytes> responses;
    Admission::Ticket memory;
  };
  // The status to finish with, after the lock was released.
  using Ending = std::optional<absl::Status>;

  // The reader or the writer has come to the end of its page, or to the end of all. The one that
  // comes second starts the next page of both.
  Ending SwitchPages() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ended_ || reading_ || (writing_ && !stalled_)) return std::nullopt;
    if (!broken_.ok()) return EndWith(broken_);
    if (starved_) return std::nullopt;
    if (!ahead_.ok() || ahead_->responses.empty()) return EndWith(ahead_.status());
    page_ = *std::move(ahead_);
    ahead_ = Page();
    written_ = 0;
    WriteNext();
    ReadAhead();
    return std::nullopt;
  }

  Ending AfterWrite(bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = false;
    response_.Clear();
    if (!ok && broken_.ok()) broken_ = Refusal(Reason::kCancelled, "the reader went away");
    if (broken_.ok() && written_ < page_.responses.size()) {
      WriteNext();
      return std::nullopt;
    }
    page_ = Page();
    return SwitchPages();
  }

  // Ends a stream whose client reads nothing, and cuts it off when it does not even read its end;
  // reads on where there was no memory for it.
  Ending LookAfter(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Duration timeout = edge_.streams.limits().write_timeout;
    const bool late = now - since_ >= timeout;
    if (writing_ && late) {
      since_ = now;
      if (ended_) {
        context_.TryCancel();
        return std::nullopt;
      }
      stalled_ = true;
      broken_ = ClientReadNothing("known");
      return SwitchPages();
    }
    if (!starved_ || reading_ || ended_) return std::nullopt;
    if (now - starved_since_ >= timeout) {
      starved_ = false;
      ahead_ = Overloaded("limits.memory_budget");
      return SwitchPages();
    }
    ReadAhead();
    return SwitchPages();
  }

  void ReadAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    starved_ = false;
    reading_ = edge_.pool.Submit([this] { ReadPage(); });
    if (!reading_) ahead_ = Overloaded("limits.queued_calls");
  }

  // On a worker.
  void ReadPage() {
    absl::StatusOr<std::optional<Page>> page = call_.RunPart([this] { return Next(); });
    Ending ending;
    {
      const absl::MutexLock lock(&mutex_);
      reading_ = false;
      starved_ = page.ok() && !*page;
      if (starved_ && !was_starved_) starved_since_ = edge_.clock.SinceBoot();
      was_starved_ = starved_;
      if (!page.ok()) {
        ahead_ = page.status();
      } else if (*page) {
        ahead_ = **std::move(page);
      }
      ending = SwitchPages();
    }
    if (ending) Conclude(*ending);
  }

  // Without responses at the end. Nothing when there is no memory for a further page: a stream that
  // has begun is not ended by others' load at once.
  absl::StatusOr<std::optional<Page>> Next() {
    RETURN_IF_ERROR(call_.StillWanted());
    const bool first = !stream_;
    if (first) {
      RETURN_IF_ERROR(Open());
    }
    absl::StatusOr<Admission::Ticket> memory = edge_.admission.AdmitBytes(kHeldPagesBytes);
    if (!memory.ok() && first) return memory.status();
    if (!memory.ok()) return std::nullopt;
    Page page{.memory = *std::move(memory)};
    ASSIGN_OR_RETURN(page.responses, stream_->Next());
    size_t bytes = stream_->HeldBytes();
    for (const Bytes& response : page.responses) bytes += response.Length();
    RETURN_IF_ERROR(page.memory.Resize(bytes));
    return page;
  }

  absl::Status Open() {
    Received<typename Kind::Request> request;
    RETURN_IF_ERROR(call_.Receive(request_, request));
    call_.NameSession(Kind::SessionOf(*request));
    stream_.emplace(sessions_, call_.caller(), *request);
    request_.Clear();
    call_.DropRequest();
    return absl::OkStatus();
  }

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = true;
    since_ = edge_.clock.SinceBoot();
    response_.Swap(&page_.responses[written_]);
    ++written_;
    call_.BeginReply();
    StartWrite(&response_);
  }

  Ending EndWith(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ended_ = true;
    ahead_ = Page();
    page_.responses.clear();
    // What the transport still has counts until it is given back.
    if (writing_) {
      page_.memory.Resize(response_.Length()).IgnoreError();
    } else {
      page_ = Page();
    }
    return status;
  }

  // For the thread that was given an ending. For any other this object may be gone as soon as the
  // lock is given back.
  void Conclude(const absl::Status& ending) { Finish(call_.End(ending)); }

  Edge& edge_;
  Sessions& sessions_;
  grpc::CallbackServerContext& context_;
  Bytes request_;  // until it is parsed
  Call call_;
  std::optional<typename Kind::Stream> stream_;  // the reading worker's alone

  absl::Mutex mutex_;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;  // a worker reads the next page, or will
  absl::StatusOr<Page> ahead_ ABSL_GUARDED_BY(mutex_) = Page();
  bool starved_ ABSL_GUARDED_BY(mutex_) = false;  // there was no memory for it
  bool was_starved_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration starved_since_ ABSL_GUARDED_BY(mutex_);
  Page page_ ABSL_GUARDED_BY(mutex_);
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;    // of the page, the one under way included
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;  // the transport has a response
  Bytes response_ ABSL_GUARDED_BY(mutex_);
  absl::Duration since_ ABSL_GUARDED_BY(mutex_);  // since boot: when the last write began
  bool stalled_ ABSL_GUARDED_BY(mutex_) = false;  // and its client does not take it
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// Starts the stream of one call. The reactor owns itself and is gone when the call is done; `edge`
// and `sessions` must outlive every call.
template <typename Kind>
grpc::ServerWriteReactor<Bytes>* StartReading(Edge& edge, Sessions& sessions,
                                              grpc::CallbackServerContext* context,
                                              const Bytes& request) {
  const TransportThread here;
  auto* reactor = new ReadStreamReactor<Kind>(edge, sessions, context, request);
  reactor->Start();
  return reactor;
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_READ_READ_STREAM_REACTOR_H_
