#include "server/telemetry/observed_store.h"

#include "platform/thread_check.h"
#include "server/telemetry/active_span.h"
#include "server/telemetry/transition.h"
#include "session/reasons.h"
#include "session/refusal.h"

#include <array>
#include <string>
#include <utility>

namespace holdfast {
namespace {

const absl::Status& StatusOf(const absl::Status& status) { return status; }

template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Each lease is answered for itself: the call as a whole does not fail.
absl::Status StatusOf(const std::vector<absl::StatusOr<Renewed>>& /*answers*/) {
  return absl::OkStatus();
}

size_t Index(auto value) { return static_cast<size_t>(value); }

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

std::string_view Name(StoreCall call) {
  static constexpr std::array<std::string_view, kStoreCalls> kNames = {
      "Init",        "Activate",   "Deactivate", "LoadForDecision", "LoadForOutcome", "Commit",
      "StageUpload", "DropUpload", "ReadStaged", "ReadMessages",    "ReadSlots",      "ReadJournal",
      "ReadEvents",  "ReadAudit",  "List",       "ListDue",         "RenewLeases",    "CheckHealth",
      "Check"};
  return kNames.at(static_cast<size_t>(call));
}

ObservedStore::ObservedStore(std::unique_ptr<SessionStore> store, const Clock& clock,
                             Metrics& metrics, ObservedStoreOptions options)
    : store_(std::move(store)), clock_(clock), metrics_(metrics), options_(std::move(options)) {}

void ObservedStore::Record(StoreCall call, absl::Duration took, const absl::Status& status) {
  metrics_.Observe(metrics_.CellOf(Metric::kStoreCallDuration, {Index(call)}), took);
  if (!status.ok()) {
    const Reason reason = RefusalOf(status).reason();
    metrics_.Add(metrics_.CellOf(Metric::kStoreErrors, {Index(call), Index(reason)}));
  }
  if (options_.on_slow && took >= options_.slow) {
    options_.on_slow({.call = call, .took = took, .code = status.code()});
  }
}

void ObservedStore::CountApplied(const Change& change, const CommitResult& result) {
  if (change.grant) {
    const GrantKind kind = KindOf(result.receipt.previous_holder, change.grant->holder);
    metrics_.Add(metrics_.CellOf(Metric::kLeaseGrants, {Index(kind)}));
  }
  if (const auto transition = TransitionOf(change, result.head)) {
    metrics_.Add(metrics_.CellOf(Metric::kTransitions,
                                 {transition->from, transition->to, transition->trigger}));
  }
}

template <typename Act>
auto ObservedStore::Watch(StoreCall call, const Act& act, absl::Duration* took) {
  AssertOffTransport("a call of the store");
  const absl::Duration before = clock_.SinceBoot();
  auto answer = act();
  const absl::Duration passed = clock_.SinceBoot() - before;
  Record(call, passed, StatusOf(answer));
  if (took != nullptr) *took = passed;
  return answer;
}

StoreDescription ObservedStore::Describe() const { return store_->Describe(); }

absl::Status ObservedStore::Init() {
  return Watch(StoreCall::kInit, [&] { return store_->Init(); });
}

absl::Status ObservedStore::Activate() {
  return Watch(StoreCall::kActivate, [&] { return store_->Activate(); });
}

absl::Status ObservedStore::Deactivate() {
  return Watch(StoreCall::kDeactivate, [&] { return store_->Deactivate(); });
}

void ObservedStore::Dispose() { store_->Dispose(); }

absl::StatusOr<LoadedSession> ObservedStore::LoadForDecision(
    const SessionKey& key, const std::optional<RequestId>& request) {
  return Watch(StoreCall::kLoadForDecision, [&] { return store_->LoadForDecision(key, request); });
}

absl::StatusOr<LoadedSession> ObservedStore::LoadForOutcome(const SessionKey& key,
                                                            const RequestId& request) {
  return Watch(StoreCall::kLoadForOutcome, [&] { return store_->LoadForOutcome(key, request); });
}

absl::StatusOr<CommitResult> ObservedStore::Commit(const Change& change) {
  absl::Duration took;
  std::optional<Span> begun = options_.spans ? options_.spans->Begin() : std::nullopt;
  auto answer = Watch(
      StoreCall::kCommit,
      [&] {
        const ActiveSpan active(begun ? &*begun : nullptr);
        return store_->Commit(change);
      },
      &took);
  if (options_.spans) options_.spans->Record(change, answer, took, std::move(begun));
  CountAnswer(change, answer);
  return answer;
}

void ObservedStore::CountAnswer(const Change& change, const absl::StatusOr<CommitResult>& answer) {
  if (!answer.ok()) return;
  metrics_.Add(metrics_.CellOf(Metric::kStoreCommits, {Index(answer->kind)}));
  if (answer->kind == CommitResult::Kind::kApplied) CountApplied(change, *answer);
}

std::vector<GroupedResult> ObservedStore::CommitMany(const std::vector<GroupedChange>& changes) {
  AssertOffTransport("a call of the store");
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
  const absl::Duration before = clock_.SinceBoot();
  std::vector<GroupedResult> results = store_->CommitMany(passed);
  const absl::Duration took = clock_.SinceBoot() - before;
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

absl::Status ObservedStore::StageUpload(const SessionKey& key, const UploadId& upload,
                                        uint64_t offset, std::string_view bytes) {
  return Watch(StoreCall::kStageUpload,
               [&] { return store_->StageUpload(key, upload, offset, bytes); });
}

absl::Status ObservedStore::DropUpload(const SessionKey& key, const UploadId& upload) {
  return Watch(StoreCall::kDropUpload, [&] { return store_->DropUpload(key, upload); });
}

absl::StatusOr<std::string> ObservedStore::ReadStaged(const SessionKey& key,
                                                      const StagedBytes& bytes, uint64_t offset,
                                                      size_t count) {
  return Watch(StoreCall::kReadStaged,
               [&] { return store_->ReadStaged(key, bytes, offset, count); });
}

absl::StatusOr<MessagePage> ObservedStore::ReadMessages(const SessionKey& key,
                                                        std::optional<Revision> revision,
                                                        MessageSeq after, PageLimit limit) {
  return Watch(StoreCall::kReadMessages,
               [&] { return store_->ReadMessages(key, revision, after, limit); });
}

absl::StatusOr<SlotPage> ObservedStore::ReadSlots(const SessionKey& key, const SlotQuery& query) {
  return Watch(StoreCall::kReadSlots, [&] { return store_->ReadSlots(key, query); });
}

absl::StatusOr<JournalPage> ObservedStore::ReadJournal(const SessionKey& key,
                                                       const JournalQuery& query, PageLimit limit) {
  return Watch(StoreCall::kReadJournal, [&] { return store_->ReadJournal(key, query, limit); });
}

absl::StatusOr<EventPage> ObservedStore::ReadEvents(const SessionKey& key, EventSeq after,
                                                    PageLimit limit) {
  return Watch(StoreCall::kReadEvents, [&] { return store_->ReadEvents(key, after, limit); });
}

absl::StatusOr<Event> ObservedStore::ReadLastEvent(const SessionKey& key) {
  return Watch(StoreCall::kReadEvents, [&] { return store_->ReadLastEvent(key); });
}

absl::StatusOr<Wakeups> ObservedStore::WaitForEvents(absl::Duration at_most) {
  return store_->WaitForEvents(at_most);
}

absl::StatusOr<AuditPage> ObservedStore::ReadAudit(const SessionKey& key, AuditSeq after,
                                                   PageLimit limit) {
  return Watch(StoreCall::kReadAudit, [&] { return store_->ReadAudit(key, after, limit); });
}

absl::StatusOr<ListPage> ObservedStore::List(const ListQuery& query) {
  return Watch(StoreCall::kList, [&] { return store_->List(query); });
}

absl::StatusOr<std::vector<SessionKey>> ObservedStore::ListDue(
    DueKind kind, absl::Duration quiet, const std::optional<SessionKey>& after, size_t limit) {
  return Watch(StoreCall::kListDue, [&] { return store_->ListDue(kind, quiet, after, limit); });
}

std::vector<absl::StatusOr<Renewed>> ObservedStore::RenewLeases(
    const std::vector<RenewRequest>& requests) {
  return Watch(StoreCall::kRenewLeases, [&] { return store_->RenewLeases(requests); });
}

absl::Status ObservedStore::CheckHealth() {
  return Watch(StoreCall::kCheckHealth, [&] { return store_->CheckHealth(); });
}

absl::StatusOr<StoreCheck> ObservedStore::Check() {
  return Watch(StoreCall::kCheck, [&] { return store_->Check(); });
}

}  // namespace holdfast
