// The only way a call goes through the server: identity, admission, deadline, trace, hop to the
// worker pool, the work itself, one log line, one status. Handlers hold none of it.
#ifndef HOLDFAST_SERVER_RPC_CALL_CALL_H_
#define HOLDFAST_SERVER_RPC_CALL_CALL_H_

#include "platform/clock.h"
#include "server/log.h"
#include "server/net/unbegun_bytes.h"
#include "server/rpc/call/admission.h"
#include "server/rpc/call/call_span.h"
#include "server/rpc/call/method.h"
#include "server/rpc/call/open_streams.h"
#include "server/rpc/call/pending_replies.h"
#include "server/rpc/call/receive.h"
#include "server/rpc/call/reset_counter.h"
#include "server/rpc/call/status.h"
#include "server/rpc/write/staged_budget.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/tracer.h"
#include "server/worker_pool.h"
#include "session/commands.h"
#include "session/limits.h"
#include "session/reasons.h"
#include "session/refusal.h"
#include "session/secrets/secret_scan.h"
#include "session/store_meter.h"

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

class CommitBatcher;

// What every call needs of the process; outlives the calls.
struct Edge {
  WorkerPool& pool;
  Admission& admission;
  StagedBudget& staged;
  OpenStreams& streams;
  const Clock& clock;
  Random& random;
  Log& log;
  Metrics& metrics;
  // A secret that is found here is kept out of log lines and traces.
  const SecretScanner& secrets = NoSecrets();
  // Of calls that were given up before their work began.
  ResetCounter* resets = nullptr;
  // Of connections; without it nothing is counted.
  UnbegunBytes* unbegun = nullptr;
  // Of unary calls; without it nothing bounds how long a reply waits for its reader.
  PendingReplies* replies = nullptr;
  // Of sampled calls; without it no call is.
  Tracer* tracer = nullptr;
  // Of calls that change a session; without it each is committed by itself.
  CommitBatcher* batcher = nullptr;
};

// Counts a message of `bytes` that has arrived whole on the connection of `context`.
void CountMessage(const Edge& edge, const grpc::CallbackServerContext& context, size_t bytes);

// What a handler says of its call.
struct CallInfo {
  MethodName method;
  std::string session;       // as the request names it; need not be valid
  size_t request_bytes = 0;  // as they came; their memory is taken before they are parsed
  size_t held_bytes = 0;     // of a stream: what it may hold while it is idle
  bool has_request = true;   // false: the client ended the call before its request arrived
};

// One call from its entry to its log line. Used by one thread at a time.
class Call {
 public:
  // `edge` and `context` must outlive this.
  Call(Edge& edge, grpc::CallbackServerContext& context, CallInfo info);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  // Lets the call in. TOO_LARGE for metadata or a request over their limits; OVERLOADED and
  // STORE_UNAVAILABLE as Admission says.
  absl::Status Enter();
  // OK while a client waits for the answer. Before any effect: CANCELLED or DEADLINE, outcome
  // known. A call without a deadline has kDefaultDeadline from its entry on.
  [[nodiscard]] absl::Status StillWanted() const;
  // Whether the client ended the call itself. The transport may report the reset of a call without
  // a request only after its work, so the missing request is evidence enough.
  [[nodiscard]] bool GivenUp() const { return !has_request_ || context_.IsCancelled(); }
  // Runs `work`, a part of the call. INTERNAL, logged and counted, if it throws.
  absl::Status Run(absl::FunctionRef<absl::Status()> work);
  // The same while the client still waits; else what StillWanted says.
  absl::Status RunIfWanted(absl::FunctionRef<absl::Status()> work);
  // The same for what a batch left alone. In doubt, it may be in effect already: it is run whether
  // the client waits or not, and when it fails the outcome is unknown.
  absl::Status RunAlone(bool in_doubt, absl::FunctionRef<absl::Status()> work);
  // As Run, for a part that answers a Status or a StatusOr.
  template <typename Part>
  auto RunPart(Part part) -> decltype(part()) {
    std::optional<decltype(part())> result;
    const absl::Status ran = Run([&] {
      result.emplace(part());
      return absl::OkStatus();
    });
    return ran.ok() ? *std::move(result) : ran;
  }
  // Adds the initial metadata of a reply. A stream calls it before its first message; End does for
  // a call that has none.
  void BeginReply();
  // Writes the log line; returns the client's status. A call that is refused because the server
  // stops carries the retry delay for the client's library. Called once, before the call is
  // finished. The call keeps its place until it is destroyed: its answer is still to be written.
  grpc::Status End(const absl::Status& status);
  // From now on the call holds the memory of its request and of a reply of so many bytes.
  void HoldReply(size_t bytes);

  // Parses the request of this call, which was admitted. Takes the memory that the request may need
  // before, and returns afterwards what it does not. OVERLOADED when the budget does not have it;
  // otherwise as holdfast::Parse.
  template <typename Message>
  absl::Status Receive(const Bytes& bytes, Received<Message>& request) {
    const size_t most = kParsedBytesLeast + bytes.Length() * kParsedBytesPerWireByte;
    return holdfast::Receive(bytes, most, ticket_, request);
  }
  // Gives back what the request took: a stream is done with the one that opened it.
  void DropRequest();

  // A stream has no default deadline: it lives as long as its client reads.
  void DropDefaultDeadline();
  // A call whose caller asked it to wait has that much longer where it would have the default.
  void ProlongDefaultDeadline(absl::Duration by);
  // For the log line and the details of a refusal, when the request did not name it.
  void NameSession(std::string session);

  [[nodiscard]] const Caller& caller() const { return caller_; }
  // Its span; nullopt: it is not recorded.
  [[nodiscard]] std::optional<RecordedSpan> span() const;
  [[nodiscard]] const CallFacts& facts() const { return facts_; }

 private:
  [[nodiscard]] absl::Status CheckMetadata() const;
  void ReadTrace();
  // Makes the call's span, if it is recorded. There must be a tracer.
  void BeginSpan(std::optional<TraceParent> parent);
  // Counts the answer; `refused` is nullptr for OK.
  void Count(const ReasonRow* refused, absl::Duration took);
  // The values of metadata `name`, which is about the trace, joined by commas. Empty where they are
  // larger than kTraceStateBytes or have a secret in them.
  [[nodiscard]] std::string TraceMetadata(const char* name) const;
  // Counts a call that its client gave up before its work began; the transport cancels one that is
  // past its deadline too, which is no fault of the client.
  void CountIfReset() const;
  // Sets the retry delay for gRPC's own retries, which do not read RetryInfo: of a call that
  // admission control rejected, and of every call of a server that stops. LEASE_HELD has none,
  // since its delay is the rest of a lease.
  void SetPushback(const Refusal& refusal);

  Edge& edge_;
  grpc::CallbackServerContext& context_;
  const MethodName method_;
  const size_t request_bytes_;
  const size_t held_bytes_;
  const bool has_request_;
  const absl::Duration entered_;
  bool default_deadline_ = false;
  absl::Duration deadline_;     // since boot
  mutable bool begun_ = false;  // StillWanted said so once
  bool replying_ = false;       // initial metadata is set
  CallFacts facts_;
  std::string span_id_;  // of this call
  Caller caller_;
  std::unique_ptr<CallSpan> span_;  // of a sampled call
  Admission::Ticket ticket_;
};

// Fills the response and answers how it went.
using Work = absl::AnyInvocable<absl::Status(Call&)>;

// Runs `work` on a worker and finishes the call exactly once. The call is dropped without effect,
// before `work`, when its client no longer waits. OVERLOADED when the worker pool's queue is full.
grpc::ServerUnaryReactor* RunUnary(Edge& edge, grpc::CallbackServerContext* context, CallInfo info,
                                   Work work);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_CALL_H_
