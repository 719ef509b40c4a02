#include "server/telemetry/observed_store.h"

#include "platform/thread_check.h"
#include "server/telemetry/active_span.h"
#include "server/telemetry/transition.h"
#include "session/reasons.h"
#include "session/refusal.h"

#include <string>
#include <utility>

namespace holdfast {
namespace {

GrantKind KindOf(const std::string& previous_holder, const std::string& holder) {
  if (previous_holder.empty()) return GrantKind::kFirst;
  return previous_holder == holder ? GrantKind::kSame : GrantKind::kTakeover;
}

// The spans of one change of a group.
struct ObservedChange {
  std::optional<Span> call;   // that the change works for
  std::optional<Span> begun;  // of the change itself
};

}  // namespace

ObservedStore::ObservedStore(std::unique_ptr<SessionStore> store, const Clock& clock,
                             Metrics& metrics, ObservedStoreOptions options)
    : ForwardingStore(std::move(store)),
      clock_(clock),
      metrics_(metrics),
      options_(std::move(options)) {}

void ObservedStore::Record(StoreCall call, absl::Duration took, const absl::Status& status) {
  metrics_.Observe(metrics_.CellOf(Metric::kStoreCallDuration, {LabelIndex(call)}), took);
  if (!status.ok()) {
    const Reason reason = RefusalOf(status).reason();
    metrics_.Add(metrics_.CellOf(Metric::kStoreErrors, {LabelIndex(call), LabelIndex(reason)}));
  }
  if (options_.on_slow && took >= options_.slow) {
    options_.on_slow({.call = call, .took = took, .code = status.code()});
  }
}

void ObservedStore::CountApplied(const Change& change, const CommitResult& result) {
  if (change.grant) {
    const GrantKind kind = KindOf(result.receipt.previous_holder, change.grant->holder);
    metrics_.Add(metrics_.CellOf(Metric::kLeaseGrants, {LabelIndex(kind)}));
  }
  if (const auto transition = TransitionOf(change, result.head)) {
    metrics_.Add(metrics_.CellOf(Metric::kTransitions,
                                 {transition->from, transition->to, transition->trigger}));
  }
}

absl::Duration ObservedStore::DurationOf(absl::FunctionRef<void()> act) const {
  AssertOffTransport("a call of the store");
  const absl::Duration before = clock_.SinceBoot();
  act();
  return clock_.SinceBoot() - before;
}

absl::Status ObservedStore::Around(StoreCall call, absl::FunctionRef<absl::Status()> act) {
  absl::Status status;
  const absl::Duration took = DurationOf([&] { status = act(); });
  Record(call, took, status);
  return status;
}

absl::StatusOr<CommitResult> ObservedStore::Commit(const Change& change) {
  std::optional<Span> begun = options_.spans ? options_.spans->Begin() : std::nullopt;
  absl::StatusOr<CommitResult> answer;
  const absl::Duration took = DurationOf([&] {
    const ActiveSpan active(begun ? &*begun : nullptr);
    answer = store().Commit(change);
  });
  Record(StoreCall::kCommit, took, answer.status());
  if (options_.spans) options_.spans->Record(change, answer, took, std::move(begun));
  CountAnswer(change, answer);
  return answer;
}

void ObservedStore::CountAnswer(const Change& change, const absl::StatusOr<CommitResult>& answer) {
  if (!answer.ok()) return;
  metrics_.Add(metrics_.CellOf(Metric::kStoreCommits, {LabelIndex(answer->kind)}));
  if (answer->kind == CommitResult::Kind::kApplied) CountApplied(change, *answer);
}

std::vector<GroupedResult> ObservedStore::CommitMany(const std::vector<GroupedChange>& changes) {
  std::vector<ObservedChange> observed;
  observed.reserve(changes.size());
  std::vector<GroupedChange> passed = changes;
  for (GroupedChange& change : passed) {
    ObservedChange& member = observed.emplace_back();
    if (!options_.spans || !change.span) continue;
    member.call = SpanOf(*std::move(change.span));
    const ActiveSpan active(&*member.call);
    member.begun = options_.spans->Begin();
    change.span = RecordOf(*member.begun);
  }
  std::vector<GroupedResult> results;
  const absl::Duration took = DurationOf([&] { results = store().CommitMany(passed); });
  for (size_t i = 0; i < changes.size(); ++i) {
    if (results[i].kind != GroupedResult::Kind::kDone) continue;
    const Change& change = *changes[i].change;
    const absl::StatusOr<CommitResult>& answer = results[i].result;
    Record(StoreCall::kCommit, took, answer.status());
    if (options_.spans) {
      const ActiveSpan active(observed[i].call ? &*observed[i].call : nullptr);
      options_.spans->Record(change, answer, took, std::move(observed[i].begun));
    }
    CountAnswer(change, answer);
  }
  return results;
}

}  // namespace holdfast
