#include "cli/session_tail.h"

#include "cli/clock.h"
#include "cli/connection.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/reasons.h"
#include "cli/text.h"
#include "cli/times.h"

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

namespace holdfast::cli {
namespace {

// How long a stream that had begun may be without a server, unless --patience says otherwise.
constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr char kWatchEnded[] = "WATCH_ENDED";
constexpr char kCompacted[] = "EVENTS_COMPACTED";

// The call that is under way, for another thread to cancel.
class CurrentCall final {
 public:
  // False when everything has been cancelled.
  bool Set(grpc::ClientContext* context) {
    const absl::MutexLock lock(&mutex_);
    context_ = context;
    return !cancelled_;
  }
  void Cancel() {
    const absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }

 private:
  absl::Mutex mutex_;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

void WriteEvent(const Invocation& invocation, const v1::WatchSessionResponse& message) {
  const v1::Event& event = message.event();
  if (invocation.json()) {
    nlohmann::ordered_json object = ToJson(event);
    object["cursor"] = message.cursor();
    WriteJson(invocation, object);
    invocation.out << std::flush;
    return;
  }
  std::string line = absl::StrCat(event.seq(), "  ", ShortTime(event.create_time()), "  ",
                                  event.name(), "  revision=", event.revision());
  const std::map<std::string, std::string> sorted(event.payload().begin(), event.payload().end());
  for (const auto& [name, value] : sorted) absl::StrAppend(&line, " ", name, "=", value);
  if (!event.trace_id().empty()) absl::StrAppend(&line, " trace=", event.trace_id());
  invocation.out << Printable(line) << '\n' << std::flush;
}

// One tail, over any number of streams. For one thread.
class Tail final {
 public:
  Tail(const Invocation& invocation, const TailOptions& options, const std::string& session)
      : invocation_(invocation), once_(options.once) {
    request_.set_session_id(session);
    if (!options.cursor.empty()) {
      request_.set_cursor(options.cursor);
    } else {
      request_.set_after_seq(options.from == 0 ? 0 : options.from - 1);
      from_oldest_ = options.from == 0;
    }
  }

  // Follows one stream to its end. OK when there is nothing more to print.
  grpc::Status Follow(const Connection& connection, CurrentCall& current) {
    grpc::ClientContext context;
    if (!current.Set(&context)) return grpc::Status::OK;
    const auto stream = connection.sessions().WatchSession(&context, request_);
    v1::WatchSessionResponse message;
    while (!done_ && stream->Read(&message)) Take(message);
    if (done_) context.TryCancel();
    grpc::Status status = stream->Finish();
    current.Set(nullptr);
    return done_ ? grpc::Status::OK : status;
  }

  // Whether another stream can go on after `failure`.
  bool CanGoOn(const Failure& failure) {
    if (failure.reason == kCompacted && from_oldest_) {
      const auto oldest = failure.metadata.find("oldest");
      uint64_t seq = 0;
      if (oldest == failure.metadata.end() || !absl::SimpleAtoi(oldest->second, &seq)) return false;
      request_.set_after_seq(seq - 1);
      return seq > 0;
    }
    return failure.reason == kWatchEnded || ExplanationOf(failure.reason).repeat == Repeat::kYes;
  }

  // True when a message came since the last call.
  bool TakeMoved() { return std::exchange(moved_, false); }
  [[nodiscard]] bool began() const { return began_; }
  [[nodiscard]] const std::string& cursor() const { return request_.cursor(); }

 private:
  void Take(const v1::WatchSessionResponse& message) {
    if (message.has_event()) WriteEvent(invocation_, message);
    request_.set_cursor(message.cursor());
    from_oldest_ = false;
    began_ = true;
    moved_ = true;
    done_ = (once_ && message.has_progress()) || !invocation_.out.good();
  }

  const Invocation& invocation_;
  const bool once_;
  v1::WatchSessionRequest request_;
  bool from_oldest_ = false;
  bool began_ = false;
  bool moved_ = false;
  bool done_ = false;
};

// Streams one after the other, until one ends for good.
grpc::Status FollowAll(Tail& tail, const Connection& connection, const RetryPolicy& policy,
                       CurrentCall& current, const Interrupt& interrupt) {
  const Clock& clock = MachineClock();
  absl::Duration since = clock.Monotonic();
  for (int repeat = 0;; ++repeat) {
    grpc::Status status = tail.Follow(connection, current);
    if (status.ok() || interrupt.came()) return grpc::Status::OK;
    if (tail.TakeMoved()) {
      repeat = 0;
      since = clock.Monotonic();
    }
    const Failure failure = FailureOf(status);
    const bool compacted = failure.reason == kCompacted;
    if (!tail.CanGoOn(failure)) return status;
    if (compacted) continue;
    const absl::Duration pause = PauseBefore(repeat, failure, policy);
    const absl::Duration patience =
        tail.began() ? std::max(policy.patience, kPatience) : policy.patience;
    if (clock.Monotonic() - since + pause > patience) return status;
    clock.Sleep(pause);
  }
}

}  // namespace

ExitCode RunTail(Invocation& invocation, const RetryPolicy& policy, const TailOptions& options) {
  // A stream has no end that a document could wait for.
  if (invocation.json()) invocation.output = Output::kJsonLines;
  CurrentCall current;
  const Interrupt interrupt([&current] { current.Cancel(); });
  const Connection connection(invocation.address);
  const Caller caller(policy, MachineClock());
  std::string session;
  grpc::Status status = SessionCalls(connection, caller).Resolve(options.target, session);
  if (!status.ok()) return Refuse(invocation, status);
  Tail tail(invocation, options, session);
  status = FollowAll(tail, connection, policy, current, interrupt);
  const bool ended_early = interrupt.came() || !status.ok();
  if (ended_early && !invocation.json() && !tail.cursor().empty()) {
    WriteNote(invocation, "to continue behind the last line: --cursor " + tail.cursor());
  }
  return status.ok() ? kDone : Refuse(invocation, status);
}

}  // namespace holdfast::cli
