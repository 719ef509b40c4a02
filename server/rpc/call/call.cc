#include "server/rpc/call/call.h"

#include "platform/exceptions.h"
#include "platform/status_macros.h"
#include "platform/thread_check.h"
#include "server/net/peer.h"
#include "server/rpc/call/discovery.h"
#include "server/rpc/call/trace.h"
#include "server/rpc/call/unary_reactor.h"
#include "server/telemetry/active_span.h"
#include "session/limits.h"
#include "session/reasons.h"
#include "session/refusal.h"

#include "absl/strings/escaping.h"

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

namespace holdfast {
namespace {

constexpr char kDefaultTenant[] = "default";
constexpr char kHiddenText[] = "***";
constexpr char kTraceParent[] = "traceparent";
constexpr char kTraceState[] = "tracestate";
constexpr char kRetryPushback[] = "grpc-retry-pushback-ms";

bool HasDeadline(const grpc::CallbackServerContext& context) {
  return context.deadline() != std::chrono::system_clock::time_point::max();
}

// Between one and two. gRPC waits exactly the delay of the trailer, so calls that are rejected
// together would be repeated together.
double Spread() {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(1.0, 2.0)(generator);
}

absl::Status Dropped(Reason reason, std::string_view message) {
  return Refusal(reason, message).With("outcome", "known");
}

// A unary call whose work is one task of a worker.
class FunnelReactor final : public UnaryReactor {
 public:
  FunnelReactor(Edge& edge, grpc::CallbackServerContext& context, CallInfo info, Work work)
      : UnaryReactor(edge, context),
        edge_(edge),
        context_(context),
        call_(edge, context, std::move(info)),
        work_(std::move(work)) {}

  void Start() {
    if (!Enter(call_)) return;
    if (!edge_.pool.Submit([this] { Work(); })) Answer(call_, Overloaded("limits.queued_calls"));
  }

 private:
  void Work() {
    const absl::Status status = call_.RunIfWanted([this] { return work_(call_); });
    work_ = nullptr;  // what it holds is not needed while the reply leaves
    if (!status.ok()) call_.HoldReply(0);
    Answer(call_, status);
  }

  Edge& edge_;
  grpc::CallbackServerContext& context_;
  Call call_;
  holdfast::Work work_;
};

}  // namespace

void CountMessage(const Edge& edge, const grpc::CallbackServerContext& context, size_t bytes) {
  edge.metrics.Add(edge.metrics.CellOf(Metric::kRpcReceivedBytes), bytes);
  if (edge.unbegun == nullptr || !edge.unbegun->counting()) return;
  edge.unbegun->MessageArrived(context.peer(), bytes);
}

Call::Call(Edge& edge, grpc::CallbackServerContext& context, CallInfo info)
    : edge_(edge),
      context_(context),
      method_(info.method),
      request_bytes_(info.request_bytes),
      held_bytes_(info.held_bytes),
      has_request_(info.has_request),
      entered_(edge.clock.SinceBoot()),
      default_deadline_(!HasDeadline(context)) {
  deadline_ = entered_ + kDefaultDeadline;
  if (!default_deadline_) {
    deadline_ = entered_ + (absl::FromChrono(context.deadline()) - edge.clock.Wall());
  }
  CountMessage(edge, context, request_bytes_);
  NameSession(std::move(info.session));
  // Without authentication everybody is this tenant.
  static const TenantId kTenant = *TenantId::Parse(kDefaultTenant);
  caller_.tenant = kTenant;
  ReadTrace();
  Metrics& metrics = edge_.metrics;
  metrics.Add(metrics.CellOf(Metric::kRpcStarted, {method_.index()}));
  metrics.Add(metrics.CellOf(Metric::kRpcInFlight, {method_.index()}));
}

Call::~Call() {
  edge_.metrics.Subtract(edge_.metrics.CellOf(Metric::kRpcInFlight, {method_.index()}));
}

void Call::Count(const ReasonRow* refused, absl::Duration took) {
  Metrics& metrics = edge_.metrics;
  const size_t code = refused == nullptr ? 0 : static_cast<size_t>(refused->status);
  metrics.Add(metrics.CellOf(Metric::kRpcHandled, {method_.index(), code}));
  const auto outcome = static_cast<size_t>(refused == nullptr ? Outcome::kOk : Outcome::kFailed);
  metrics.Observe(metrics.CellOf(Metric::kRpcDuration, {method_.index(), outcome}), took);
  if (refused == nullptr) return;
  const auto reason = static_cast<size_t>(refused->reason);
  metrics.Add(metrics.CellOf(Metric::kRpcRefused, {reason}));
}

void Call::NameSession(std::string session) {
  const bool hidden = !session.empty() && edge_.secrets.Find(session).has_value();
  facts_.session = hidden ? kHiddenText : std::move(session);
}

std::string Call::TraceMetadata(const char* name) const {
  const auto [first, last] = context_.client_metadata().equal_range(name);
  std::string text;
  for (auto value = first; value != last; ++value) {
    if (value != first) text += ',';
    text.append(value->second.data(), value->second.size());
  }
  const bool left_out = text.size() > kTraceStateBytes || edge_.secrets.Find(text).has_value();
  return left_out ? "" : text;
}

void Call::ReadTrace() {
  auto parent = ParseTraceParent(TraceMetadata(kTraceParent));
  if (parent) {
    caller_.trace.id = parent->trace_id;
    caller_.span_id = parent->span_id;
  }
  // A session remembers only a trace that the caller knows or that is recorded; log line and
  // refusal always have one.
  const std::string ids = absl::BytesToHexString(edge_.random.Bytes(kTraceIdBytes + kSpanIdBytes));
  facts_.trace_id = parent ? parent->trace_id : ids.substr(0, 2 * kTraceIdBytes);
  if (edge_.tracer != nullptr) BeginSpan(std::move(parent));
  span_id_ = span_ != nullptr ? span_->span().span_id : ids.substr(2 * kTraceIdBytes);
  if (span_ == nullptr) return;
  caller_.trace = {.id = facts_.trace_id, .sampled = true};
  if (caller_.span_id.empty()) caller_.span_id = span_id_;
}

void Call::BeginSpan(std::optional<TraceParent> parent) {
  std::string state = parent ? ParseTraceState(TraceMetadata(kTraceState)) : "";
  span_ = CallSpan::Begin(*edge_.tracer, {.method = method_.name(),
                                          .trace_id = facts_.trace_id,
                                          .parent = std::move(parent),
                                          .state = std::move(state)});
}

std::optional<RecordedSpan> Call::span() const {
  if (span_ == nullptr) return std::nullopt;
  return RecordOf(span_->span());
}

absl::Status Call::CheckMetadata() const {
  size_t bytes = 0;
  for (const auto& [name, value] : context_.client_metadata()) bytes += name.size() + value.size();
  if (bytes > kMetadataBytes) return TooLarge("metadata", kMetadataBytes, bytes);
  return absl::OkStatus();
}

absl::Status Call::Enter() {
  RETURN_IF_ERROR(CheckMetadata());
  if (request_bytes_ > kUnaryRequestBytes) {
    return TooLarge("request", kUnaryRequestBytes, request_bytes_);
  }
  ASSIGN_OR_RETURN(ticket_, edge_.admission.Admit(request_bytes_ + held_bytes_));
  return absl::OkStatus();
}

absl::Status Call::StillWanted() const {
  // The transport cancels what is past its deadline, so the deadline is asked first.
  if (edge_.clock.SinceBoot() >= deadline_) {
    return Dropped(Reason::kDeadline, "the deadline passed before the call was begun");
  }
  if (GivenUp()) {
    return Dropped(Reason::kCancelled, "the caller gave up before the call was begun");
  }
  begun_ = true;
  return absl::OkStatus();
}

void Call::HoldReply(size_t bytes) {
  edge_.metrics.Add(edge_.metrics.CellOf(Metric::kRpcReplyBytes), bytes);
  ticket_.Hold(request_bytes_ + bytes);
}

void Call::DropRequest() { ticket_.Resize(held_bytes_).IgnoreError(); }

void Call::CountIfReset() const {
  const absl::Duration now = edge_.clock.SinceBoot();
  if (edge_.resets == nullptr || begun_ || now >= deadline_ || !GivenUp()) return;
  edge_.resets->Count(context_.peer(), now);
}

void Call::DropDefaultDeadline() {
  if (default_deadline_) deadline_ = absl::InfiniteDuration();
}

void Call::ProlongDefaultDeadline(absl::Duration by) {
  if (default_deadline_) deadline_ += by;
}

void Call::BeginReply() {
  if (replying_) return;
  replying_ = true;
  context_.AddInitialMetadata(kApiHeader, kApiVersion);
  context_.AddInitialMetadata(kFeaturesHeader, kFeatures);
}

void Call::SetPushback(const Refusal& refusal) {
  const auto delay = refusal.retry_after();
  const bool sent = refusal.reason() == Reason::kOverloaded || edge_.admission.stopped();
  if (!delay || !sent) return;
  const int64_t wait = absl::ToInt64Milliseconds(*delay * Spread());
  context_.AddTrailingMetadata(kRetryPushback, std::to_string(wait));
}

absl::Status Call::Run(absl::FunctionRef<absl::Status()> work) {
  const ActiveSpan active(span_ == nullptr ? nullptr : &span_->span());
  absl::Status status;
  const auto what = CatchException([&] { status = work(); });
  if (!what) return status;
  edge_.pool.CountException();
  edge_.log.Error("exception", {{"method", std::string(method_.name())},
                                {"session", facts_.session.substr(0, kSessionIdBytes)},
                                {"problem", edge_.secrets.Find(*what) ? kHiddenText : *what},
                                {"trace_id", facts_.trace_id}});
  return Refusal(Reason::kInternal, "an internal error");
}

absl::Status Call::RunIfWanted(absl::FunctionRef<absl::Status()> work) {
  RETURN_IF_ERROR(StillWanted());
  return Run(work);
}

absl::Status Call::RunAlone(bool in_doubt, absl::FunctionRef<absl::Status()> work) {
  return in_doubt ? LeaveInDoubt(Run(work)) : RunIfWanted(work);
}

grpc::Status Call::End(const absl::Status& status) {
  std::optional<Refusal> refusal;
  if (!status.ok()) refusal = RefusalOf(status);
  const ReasonRow* const refused = refusal ? &RowOf(refusal->reason()) : nullptr;
  const absl::Duration took = edge_.clock.SinceBoot() - entered_;
  Count(refused, took);
  edge_.log.Call({.method = method_.name(),
                  .session = std::string_view(facts_.session).substr(0, kSessionIdBytes),
                  .peer = PeerOfCall(context_.peer()),
                  .reason = refused == nullptr ? std::string_view() : refused->name,
                  .milliseconds = absl::ToDoubleMilliseconds(took),
                  .trace_id = facts_.trace_id,
                  .span_id = span_id_});
  if (span_ != nullptr) std::move(*span_).End(status, facts_.session);
  CountIfReset();
  if (!refusal) {
    BeginReply();
    return grpc::Status::OK;
  }
  if (!replying_) {
    context_.AddTrailingMetadata(kApiHeader, kApiVersion);
    context_.AddTrailingMetadata(kFeaturesHeader, kFeatures);
  }
  SetPushback(*refusal);
  return ToGrpcStatus(*refusal, facts_);
}

grpc::ServerUnaryReactor* RunUnary(Edge& edge, grpc::CallbackServerContext* context, CallInfo info,
                                   Work work) {
  const TransportThread here;
  auto* const reactor =
      MakeReactor<FunnelReactor>(edge, *context, std::move(info), std::move(work));
  reactor->Start();
  return reactor;
}

}  // namespace holdfast
