#include "server/telemetry/observed_store.h"

#include "session/thread_check.h"

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

absl::StatusCode CodeOf(const absl::Status& status) { return status.code(); }

template <typename T>
absl::StatusCode CodeOf(const absl::StatusOr<T>& result) {
  return result.status().code();
}

// Each lease is answered for itself: the call as a whole does not fail.
absl::StatusCode CodeOf(const std::vector<absl::StatusOr<Renewed>>& /*answers*/) {
  return absl::StatusCode::kOk;
}

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
                             ObservedStoreOptions options)
    : store_(std::move(store)), clock_(clock), options_(std::move(options)) {}

StoreCallCount ObservedStore::Count(StoreCall call) const {
  const absl::MutexLock lock(&mutex_);
  return counts_.at(static_cast<size_t>(call));
}

void ObservedStore::Record(StoreCall call, absl::Duration took, absl::StatusCode code) {
  {
    const absl::MutexLock lock(&mutex_);
    StoreCallCount& count = counts_.at(static_cast<size_t>(call));
    ++count.calls;
    count.failures += code == absl::StatusCode::kOk ? 0 : 1;
    count.total += took;
    count.longest = std::max(count.longest, took);
  }
  if (options_.on_slow && took >= options_.slow) {
    options_.on_slow({.call = call, .took = took, .code = code});
  }
}

template <typename Act>
auto ObservedStore::Watch(StoreCall call, const Act& act) {
  AssertOffTransport("a call of the store");
  const absl::Duration before = clock_.SinceBoot();
  auto answer = act();
  Record(call, clock_.SinceBoot() - before, CodeOf(answer));
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

absl::StatusOr<Loaded> ObservedStore::LoadForDecision(const SessionKey& key,
                                                      const std::optional<RequestId>& request) {
  return Watch(StoreCall::kLoadForDecision, [&] { return store_->LoadForDecision(key, request); });
}

absl::StatusOr<Loaded> ObservedStore::LoadForOutcome(const SessionKey& key,
                                                     const RequestId& request) {
  return Watch(StoreCall::kLoadForOutcome, [&] { return store_->LoadForOutcome(key, request); });
}

absl::StatusOr<CommitResult> ObservedStore::Commit(const Change& change) {
  return Watch(StoreCall::kCommit, [&] { return store_->Commit(change); });
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
