#include "session/forwarding_store.h"

namespace holdfast {

absl::Status ForwardingStore::Around(StoreCall /*call*/, absl::FunctionRef<absl::Status()> act) {
  return act();
}

StoreDescription ForwardingStore::Describe() const { return store_->Describe(); }

absl::Status ForwardingStore::Init() {
  return Surrounded(StoreCall::kInit, [&] { return store_->Init(); });
}

absl::Status ForwardingStore::Activate() {
  return Surrounded(StoreCall::kActivate, [&] { return store_->Activate(); });
}

absl::Status ForwardingStore::Deactivate() {
  return Surrounded(StoreCall::kDeactivate, [&] { return store_->Deactivate(); });
}

void ForwardingStore::Dispose() { store_->Dispose(); }

absl::StatusOr<LoadedSession> ForwardingStore::LoadForDecision(
    const SessionKey& key, const std::optional<RequestId>& request) {
  return Surrounded(StoreCall::kLoadForDecision,
                    [&] { return store_->LoadForDecision(key, request); });
}

absl::StatusOr<LoadedSession> ForwardingStore::LoadForOutcome(const SessionKey& key,
                                                              const RequestId& request) {
  return Surrounded(StoreCall::kLoadForOutcome,
                    [&] { return store_->LoadForOutcome(key, request); });
}

absl::StatusOr<CommitResult> ForwardingStore::Commit(const Change& change) {
  return Surrounded(StoreCall::kCommit, [&] { return store_->Commit(change); });
}

std::vector<GroupedResult> ForwardingStore::CommitMany(const std::vector<GroupedChange>& changes) {
  return store_->CommitMany(changes);
}

std::shared_ptr<const Head> ForwardingStore::CachedHead(const SessionKey& key) {
  return store_->CachedHead(key);
}

absl::Status ForwardingStore::StageUpload(const SessionKey& key, const UploadId& upload,
                                          uint64_t offset, std::string_view bytes) {
  return Surrounded(StoreCall::kStageUpload,
                    [&] { return store_->StageUpload(key, upload, offset, bytes); });
}

absl::Status ForwardingStore::DropUpload(const SessionKey& key, const UploadId& upload) {
  return Surrounded(StoreCall::kDropUpload, [&] { return store_->DropUpload(key, upload); });
}

absl::StatusOr<std::string> ForwardingStore::ReadStaged(const SessionKey& key,
                                                        const StagedBytes& bytes, uint64_t offset,
                                                        size_t count) {
  return Surrounded(StoreCall::kReadStaged,
                    [&] { return store_->ReadStaged(key, bytes, offset, count); });
}

absl::StatusOr<MessagePage> ForwardingStore::ReadMessages(const SessionKey& key,
                                                          std::optional<Revision> revision,
                                                          MessageSeq after, PageLimit limit) {
  return Surrounded(StoreCall::kReadMessages,
                    [&] { return store_->ReadMessages(key, revision, after, limit); });
}

absl::StatusOr<SlotPage> ForwardingStore::ReadSlots(const SessionKey& key, const SlotQuery& query) {
  return Surrounded(StoreCall::kReadSlots, [&] { return store_->ReadSlots(key, query); });
}

absl::StatusOr<JournalPage> ForwardingStore::ReadJournal(const SessionKey& key,
                                                         const JournalQuery& query,
                                                         PageLimit limit) {
  return Surrounded(StoreCall::kReadJournal,
                    [&] { return store_->ReadJournal(key, query, limit); });
}

absl::StatusOr<ItemPage> ForwardingStore::ReadItems(const SessionKey& key, const ItemQuery& query,
                                                    PageLimit limit) {
  return Surrounded(StoreCall::kReadItems, [&] { return store_->ReadItems(key, query, limit); });
}

absl::StatusOr<EventPage> ForwardingStore::ReadEvents(const SessionKey& key, EventSeq after,
                                                      PageLimit limit) {
  return Surrounded(StoreCall::kReadEvents, [&] { return store_->ReadEvents(key, after, limit); });
}

absl::StatusOr<Event> ForwardingStore::ReadLastEvent(const SessionKey& key) {
  return Surrounded(StoreCall::kReadEvents, [&] { return store_->ReadLastEvent(key); });
}

absl::StatusOr<Wakeups> ForwardingStore::WaitForEvents(absl::Duration at_most) {
  return store_->WaitForEvents(at_most);
}

absl::StatusOr<AuditPage> ForwardingStore::ReadAudit(const SessionKey& key, AuditSeq after,
                                                     PageLimit limit) {
  return Surrounded(StoreCall::kReadAudit, [&] { return store_->ReadAudit(key, after, limit); });
}

absl::StatusOr<ListPage> ForwardingStore::List(const ListQuery& query) {
  return Surrounded(StoreCall::kList, [&] { return store_->List(query); });
}

absl::StatusOr<std::vector<SessionKey>> ForwardingStore::ListDue(
    DueKind kind, absl::Duration quiet, const std::optional<SessionKey>& after, size_t limit) {
  return Surrounded(StoreCall::kListDue,
                    [&] { return store_->ListDue(kind, quiet, after, limit); });
}

std::vector<absl::StatusOr<Renewed>> ForwardingStore::RenewLeases(
    const std::vector<RenewRequest>& requests) {
  std::vector<absl::StatusOr<Renewed>> answers;
  const absl::Status status = Around(StoreCall::kRenewLeases, [&] {
    answers = store_->RenewLeases(requests);
    return absl::OkStatus();
  });
  if (!status.ok()) answers.assign(requests.size(), status);
  return answers;
}

absl::Status ForwardingStore::CheckHealth() {
  return Surrounded(StoreCall::kCheckHealth, [&] { return store_->CheckHealth(); });
}

absl::StatusOr<StoreCheck> ForwardingStore::Check() {
  return Surrounded(StoreCall::kCheck, [&] { return store_->Check(); });
}

}  // namespace holdfast
