#include "tests/rpc/scripted_store.h"

#include "platform/status_macros.h"
#include "platform/thread_check.h"

#include <stdexcept>
#include <utility>

namespace holdfast::test {

void Script::Fail(absl::Status failure) {
  const absl::MutexLock lock(&mutex_);
  failure_ = std::move(failure);
}

void Script::Throw(bool throws) {
  const absl::MutexLock lock(&mutex_);
  throws_ = throws;
}

void Script::FailHealth(absl::Status failure) {
  const absl::MutexLock lock(&mutex_);
  health_ = std::move(failure);
}

void Script::Hold() {
  const absl::MutexLock lock(&mutex_);
  held_ = true;
}

void Script::Release() {
  const absl::MutexLock lock(&mutex_);
  held_ = false;
}

void Script::AwaitWaiting(int count) {
  const absl::MutexLock lock(&mutex_);
  const auto enough = [this, count]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return waiting_ >= count; };
  mutex_.Await(absl::Condition(&enough));
}

int Script::Commits() {
  const absl::MutexLock lock(&mutex_);
  return commits_;
}

void Script::CountCommit() {
  const absl::MutexLock lock(&mutex_);
  ++commits_;
}

void Script::CountCheck() {
  const absl::MutexLock lock(&mutex_);
  ++checks_;
}

int Script::Checks() {
  const absl::MutexLock lock(&mutex_);
  return checks_;
}

int Script::Drops() {
  const absl::MutexLock lock(&mutex_);
  return drops_;
}

void Script::CountDrop() {
  const absl::MutexLock lock(&mutex_);
  ++drops_;
}

int Script::Loads() {
  const absl::MutexLock lock(&mutex_);
  return loads_;
}

void Script::AwaitLoadAfter(int before) {
  const absl::MutexLock lock(&mutex_);
  const auto more = [this, before]()
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return loads_ > before; };
  mutex_.Await(absl::Condition(&more));
}

void Script::CountLoad() {
  const absl::MutexLock lock(&mutex_);
  ++loads_;
}

int Script::EventReads() {
  const absl::MutexLock lock(&mutex_);
  return event_reads_;
}

void Script::CountEventRead() {
  const absl::MutexLock lock(&mutex_);
  ++event_reads_;
}

int Script::Lookups() {
  const absl::MutexLock lock(&mutex_);
  return lookups_;
}

void Script::AwaitLookups(int count) {
  const absl::MutexLock lock(&mutex_);
  const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return lookups_ >= count; };
  mutex_.Await(absl::Condition(&enough));
}

void Script::CountLookup() {
  const absl::MutexLock lock(&mutex_);
  ++lookups_;
}

void Script::LoseWakeups() {
  const absl::MutexLock lock(&mutex_);
  loses_wakeups_ = true;
}

bool Script::LosesWakeups() {
  const absl::MutexLock lock(&mutex_);
  return loses_wakeups_;
}

absl::Status Script::Enter() {
  AssertOffTransport("a call of the store");
  const absl::MutexLock lock(&mutex_);
  ++waiting_;
  const auto free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !held_; };
  mutex_.Await(absl::Condition(&free));
  --waiting_;
  if (throws_) throw std::out_of_range("an exception that a test asked for");
  return failure_;
}

absl::Status Script::Health() {
  const absl::MutexLock lock(&mutex_);
  return health_;
}

absl::Status ScriptedStore::Init() {
  RETURN_IF_ERROR(script_.Health());
  return store_->Init();
}

absl::StatusOr<LoadedSession> ScriptedStore::LoadForDecision(
    const SessionKey& key, const std::optional<RequestId>& request) {
  RETURN_IF_ERROR(script_.Enter());
  absl::StatusOr<LoadedSession> loaded = store_->LoadForDecision(key, request);
  script_.CountLoad();
  return loaded;
}

absl::StatusOr<LoadedSession> ScriptedStore::LoadForOutcome(const SessionKey& key,
                                                            const RequestId& request) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->LoadForOutcome(key, request);
}

StoreDescription ScriptedStore::Describe() const {
  StoreDescription description = store_->Describe();
  if (script_.offers_groups_) description.groups_at_once = 1;
  return description;
}

std::vector<GroupedResult> ScriptedStore::CommitMany(const std::vector<GroupedChange>& changes) {
  ++script_.groups_;
  std::vector<GroupedResult> results = SessionStore::CommitMany(changes);
  if (!script_.loses_groups_) return results;
  for (GroupedResult& result : results) result.kind = GroupedResult::Kind::kInDoubt;
  return results;
}

absl::StatusOr<CommitResult> ScriptedStore::Commit(const Change& change) {
  script_.CountCommit();
  RETURN_IF_ERROR(script_.Enter());
  return store_->Commit(change);
}

std::shared_ptr<const Head> ScriptedStore::CachedHead(const SessionKey& key) {
  auto head = store_->CachedHead(key);
  script_.CountLookup();
  return head;
}

absl::Status ScriptedStore::StageUpload(const SessionKey& key, const UploadId& upload,
                                        uint64_t offset, std::string_view bytes) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->StageUpload(key, upload, offset, bytes);
}

absl::Status ScriptedStore::DropUpload(const SessionKey& key, const UploadId& upload) {
  script_.CountDrop();
  RETURN_IF_ERROR(script_.Enter());
  return store_->DropUpload(key, upload);
}

absl::StatusOr<std::string> ScriptedStore::ReadStaged(const SessionKey& key,
                                                      const StagedBytes& bytes, uint64_t offset,
                                                      size_t count) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->ReadStaged(key, bytes, offset, count);
}

absl::StatusOr<MessagePage> ScriptedStore::ReadMessages(const SessionKey& key,
                                                        std::optional<Revision> revision,
                                                        MessageSeq after, PageLimit limit) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->ReadMessages(key, revision, after, limit);
}

absl::StatusOr<SlotPage> ScriptedStore::ReadSlots(const SessionKey& key, const SlotQuery& query) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->ReadSlots(key, query);
}

absl::StatusOr<JournalPage> ScriptedStore::ReadJournal(const SessionKey& key,
                                                       const JournalQuery& query, PageLimit limit) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->ReadJournal(key, query, limit);
}

absl::StatusOr<EventPage> ScriptedStore::ReadEvents(const SessionKey& key, EventSeq after,
                                                    PageLimit limit) {
  script_.CountEventRead();
  RETURN_IF_ERROR(script_.Enter());
  return store_->ReadEvents(key, after, limit);
}

absl::StatusOr<Event> ScriptedStore::ReadLastEvent(const SessionKey& key) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->ReadLastEvent(key);
}

absl::StatusOr<Wakeups> ScriptedStore::WaitForEvents(absl::Duration at_most) {
  auto wakeups = store_->WaitForEvents(at_most);
  if (wakeups.ok() && script_.LosesWakeups()) return Wakeups();
  return wakeups;
}

absl::StatusOr<AuditPage> ScriptedStore::ReadAudit(const SessionKey& key, AuditSeq after,
                                                   PageLimit limit) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->ReadAudit(key, after, limit);
}

absl::StatusOr<ListPage> ScriptedStore::List(const ListQuery& query) {
  RETURN_IF_ERROR(script_.Enter());
  return store_->List(query);
}

absl::StatusOr<std::vector<SessionKey>> ScriptedStore::ListDue(
    DueKind kind, absl::Duration quiet, const std::optional<SessionKey>& after, size_t limit) {
  return store_->ListDue(kind, quiet, after, limit);
}

std::vector<absl::StatusOr<Renewed>> ScriptedStore::RenewLeases(
    const std::vector<RenewRequest>& requests) {
  return store_->RenewLeases(requests);
}

absl::StatusOr<StoreCheck> ScriptedStore::Check() {
  script_.CountCheck();
  RETURN_IF_ERROR(script_.Enter());
  return store_->Check();
}

absl::Status ScriptedStore::CheckHealth() {
  RETURN_IF_ERROR(script_.Health());
  return store_->CheckHealth();
}

}  // namespace holdfast::test
