#include "server/telemetry/commit_spans.h"

#include "server/telemetry/active_span.h"
#include "server/telemetry/span_failure.h"
#include "server/telemetry/transition.h"
#include "server/telemetry/turn_span.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

std::string_view OutcomeOf(CommitResult::Kind kind) {
  switch (kind) {
    case CommitResult::Kind::kApplied:
      return "applied";
    case CommitResult::Kind::kRepeated:
      return "repeated";
    case CommitResult::Kind::kMoved:
      return "moved";
    case CommitResult::Kind::kRefused:
      return "refused";
  }
  return "";
}

void AddSession(const Change& change, Span& span) {
  const std::string& session = change.key.session.value();
  span.attributes.push_back({"session.id", session});
  span.attributes.push_back({"gen_ai.conversation.id", session});
}

void DescribeStore(const std::string& kind, Span& span) {
  span.name = "store.Commit";
  span.attributes.push_back({"holdfast.store.kind", kind});
}

void DescribeResult(const absl::StatusOr<CommitResult>& result, Span& span) {
  const bool refused = !result.ok() || result->kind == CommitResult::Kind::kRefused;
  if (refused) AddFailure(result.ok() ? result->refusal : result.status(), span);
  std::string_view outcome = span.status.failed ? "failed" : "refused";
  if (result.ok()) outcome = OutcomeOf(result->kind);
  span.attributes.push_back({"holdfast.commit.outcome", std::string(outcome)});
}

void DescribeTransition(const AppliedTransition& transition, const CommitResult& result,
                        Span& span) {
  span.name = "session.transition";
  // A state that the session did not have, or that is not known, is left out.
  if (transition.from < kLifecycles) {
    span.attributes.push_back(
        {"holdfast.transition.from", std::string(StateName(transition.from))});
  }
  span.attributes.push_back({"holdfast.transition.to", std::string(StateName(transition.to))});
  span.attributes.push_back(
      {"holdfast.transition.trigger", std::string(TriggerName(transition.trigger))});
  span.attributes.push_back(
      {"holdfast.session.revision", static_cast<int64_t>(result.receipt.revision.value())});
}

}  // namespace

std::optional<Span> CommitSpans::Begin() const {
  const Span* const call = ActiveSpan::OfThisThread();
  if (call == nullptr) return std::nullopt;
  return ChildOf(*call, tracer_->NewSpanId());
}

void CommitSpans::Record(const Change& change, const absl::StatusOr<CommitResult>& result,
                         absl::Duration took, std::optional<Span> begun) const {
  const bool applied = result.ok() && result->kind == CommitResult::Kind::kApplied;
  if (applied) {
    if (auto turn = TurnSpanOf(change, result->head)) tracer_->Add(*std::move(turn));
  }
  const Span* const call = ActiveSpan::OfThisThread();
  std::optional<Span> transition;
  if (applied && change.to) transition = TransitionSpan(change, *result, call);
  if (!begun && transition) begun = ChildOf(*transition, tracer_->NewSpanId());
  if (!begun) return;
  Span& store = *begun;
  store.end = tracer_->clock().Wall();
  store.start = store.end - took;
  DescribeStore(store_kind_, store);
  AddSession(change, store);
  DescribeResult(result, store);
  if (transition) {
    transition->start = store.start;
    transition->end = store.end;
    tracer_->Add(*std::move(transition));
  }
  tracer_->Add(*std::move(begun));
}

std::optional<Span> CommitSpans::TransitionSpan(const Change& change, const CommitResult& result,
                                                const Span* call) const {
  const auto made = TransitionOf(change, result.head);
  if (!made) return std::nullopt;
  std::string id = TransitionSpanId(result.head.uid, result.receipt.revision);
  Span span;
  if (call != nullptr) {
    span = ChildOf(*call, std::move(id));
  } else {
    // A change that no call asked for is a trace of its own.
    if (ActiveSpan::InOperation()) return std::nullopt;
    span.trace_id = tracer_->NewTraceId();
    span.span_id = std::move(id);
    if (!tracer_->Sample(span.trace_id, std::nullopt)) return std::nullopt;
  }
  DescribeTransition(*made, result, span);
  AddSession(change, span);
  span.links = TransitionLinks(change, result.head);
  return span;
}

}  // namespace holdfast
