#include "server/telemetry/commit_spans.h"

#include "server/telemetry/active_span.h"
#include "server/telemetry/span_failure.h"
#include "server/telemetry/transition.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

constexpr char kPostgres[] = "postgres";

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
  span.kind = kind == kPostgres ? SpanKind::kClient : SpanKind::kInternal;
  if (kind == kPostgres) span.attributes.push_back({"db.system.name", "postgresql"});
  span.attributes.push_back({"holdfast.store.kind", kind});
}

void DescribeResult(const absl::StatusOr<CommitResult>& result, Span& span) {
  const bool refused = !result.ok() || result->kind == CommitResult::Kind::kRefused;
  if (refused) AddFailure(result.ok() ? result->refusal : result.status(), span);
  const std::string_view outcome = result.ok()          ? OutcomeOf(result->kind)
                                   : span.status.failed ? "failed"
                                                        : "refused";
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

void CommitSpans::Record(const Change& change, const absl::StatusOr<CommitResult>& result,
                         absl::Duration took) const {
  const Span* const call = ActiveSpan::OfThisThread();
  if (call == nullptr) return;
  Span store = ChildOf(*call, tracer_->NewSpanId());
  store.end = tracer_->clock().Wall();
  store.start = store.end - took;
  DescribeStore(store_kind_, store);
  AddSession(change, store);
  DescribeResult(result, store);
  const bool applied = result.ok() && result->kind == CommitResult::Kind::kApplied;
  const auto made = applied && change.to ? TransitionOf(change, result->head) : std::nullopt;
  if (made) {
    Span transition = ChildOf(*call, tracer_->NewSpanId());
    transition.start = store.start;
    transition.end = store.end;
    DescribeTransition(*made, *result, transition);
    AddSession(change, transition);
    tracer_->Add(std::move(transition));
  }
  tracer_->Add(std::move(store));
}

}  // namespace holdfast
