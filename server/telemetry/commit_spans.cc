#include "server/telemetry/commit_spans.h"

#include "server/telemetry/active_span.h"
#include "server/telemetry/span_failure.h"
#include "session/lifecycle.h"

#include "absl/time/time.h"

#include <array>
#include <optional>
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

std::string_view TriggerOf(const Change& change) {
  return change.create ? std::string_view("Create") : Name(change.guard.trigger);
}

// The lifecycle that the change was applied to: the one that it was decided on, or the only one
// that its trigger is legal in. nullopt where neither is known, as of a session that was created.
std::optional<Lifecycle> From(const Change& change) {
  if (change.create) return std::nullopt;
  if (change.premise) return change.premise->lifecycle;
  std::optional<Lifecycle> only;
  for (size_t i = 0; i < kLifecycles; ++i) {
    const auto lifecycle = static_cast<Lifecycle>(i);
    if (Next(lifecycle, change.guard.trigger).verdict != Verdict::kLegal) continue;
    if (only) return std::nullopt;
    only = lifecycle;
  }
  return only;
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

void DescribeTransition(const Change& change, const CommitResult& result, Span& span) {
  span.name = "session.transition";
  if (const auto from = From(change)) {
    span.attributes.push_back({"holdfast.transition.from", std::string(Name(*from))});
  }
  span.attributes.push_back({"holdfast.transition.to", std::string(Name(result.head.lifecycle))});
  span.attributes.push_back({"holdfast.transition.trigger", std::string(TriggerOf(change))});
  span.attributes.push_back(
      {"holdfast.session.revision", static_cast<int64_t>(result.receipt.revision.value())});
  AddSession(change, span);
}

}  // namespace

Sessions::AroundCommit CommitSpans(Tracer& tracer, const std::string& store_kind) {
  return [&tracer, store_kind](const Change& change, auto commit) {
    const Span* const call = ActiveSpan::OfThisThread();
    if (call == nullptr) return commit();
    Span store = ChildOf(*call, tracer.NewSpanId());
    store.start = tracer.clock().Wall();
    const absl::Duration begun = tracer.clock().SinceBoot();
    absl::StatusOr<CommitResult> result = commit();
    store.end = store.start + (tracer.clock().SinceBoot() - begun);
    DescribeStore(store_kind, store);
    AddSession(change, store);
    DescribeResult(result, store);
    if (result.ok() && result->kind == CommitResult::Kind::kApplied && change.to) {
      Span transition = ChildOf(*call, tracer.NewSpanId());
      transition.start = store.start;
      transition.end = store.end;
      DescribeTransition(change, *result, transition);
      tracer.Add(std::move(transition));
    }
    tracer.Add(std::move(store));
    return result;
  };
}

}  // namespace holdfast
