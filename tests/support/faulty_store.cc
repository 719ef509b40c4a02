#include "tests/support/faulty_store.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "tests/support/grouped_commit.h"

#include <algorithm>
#include <utility>

namespace holdfast::test {

FaultyStore::FaultyStore(std::unique_ptr<SessionStore> store) : store_(std::move(store)) {}

void FaultyStore::Arm(Fault fault) {
  const absl::MutexLock lock(&mutex_);
  faults_.push_back(std::move(fault));
}

void FaultyStore::Fail(FaultyCall call, int nth) {
  FailWith(call, StoreUnavailable("a fault that a test asked for", Fate::kNoEffect), nth);
}

void FaultyStore::FailWith(FaultyCall call, absl::Status error, int nth) {
  Arm({.call = call, .left = nth, .before = std::move(error)});
}

void FaultyStore::LoseReply(FaultyCall call, int nth) {
  Arm({.call = call,
       .left = nth,
       .after = StoreUnavailable("a reply that a test has lost", Fate::kUnknown)});
}

std::shared_ptr<HeldCall> FaultyStore::Hold(FaultyCall call, int nth) {
  auto held = std::make_shared<HeldCall>();
  Arm({.call = call, .left = nth, .held = held});
  return held;
}

void FaultyStore::InjectFault(const SessionKey& key, std::function<absl::Status()> fault) {
  const absl::MutexLock lock(&mutex_);
  injected_.insert_or_assign(key, std::move(fault));
}

absl::Status FaultyStore::RunInjected(const SessionKey& key) const {
  std::function<absl::Status()> fault;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = injected_.find(key);
    if (found == injected_.end()) return absl::OkStatus();
    fault = found->second;
  }
  return fault();
}

int FaultyStore::Calls(FaultyCall call) const {
  const absl::MutexLock lock(&mutex_);
  if (call == FaultyCall::kAny) return static_cast<int>(seen_.size());
  return static_cast<int>(std::ranges::count(seen_, call));
}

FaultyStore::Fault FaultyStore::Take(FaultyCall call) {
  const absl::MutexLock lock(&mutex_);
  seen_.push_back(call);
  Fault due;
  for (Fault& fault : faults_) {
    if (fault.call != call && fault.call != FaultyCall::kAny) continue;
    if (--fault.left == 0) due = fault;
  }
  std::erase_if(faults_, [](const Fault& fault) { return fault.left <= 0; });
  return due;
}

template <typename Act>
auto FaultyStore::Through(FaultyCall call, const Act& act) -> decltype(act()) {
  const Fault fault = Take(call);
  if (fault.held) fault.held->Wait();
  if (!fault.before.ok()) return fault.before;
  auto answer = act();
  if (!fault.after.ok()) return fault.after;
  return answer;
}

StoreDescription FaultyStore::Describe() const {
  StoreDescription description = store_->Describe();
  description.groups_at_once = std::max(description.groups_at_once, groups_at_once_);
  return description;
}
absl::Status FaultyStore::Init() { return store_->Init(); }
absl::Status FaultyStore::Activate() { return store_->Activate(); }
absl::Status FaultyStore::Deactivate() { return store_->Deactivate(); }
void FaultyStore::Dispose() { store_->Dispose(); }

absl::StatusOr<LoadedSession> FaultyStore::LoadForDecision(
    const SessionKey& key, const std::optional<RequestId>& request) {
  return Through(FaultyCall::kLoad, [&]() -> absl::StatusOr<LoadedSession> {
    RETURN_IF_ERROR(RunInjected(key));
    return store_->LoadForDecision(key, request);
  });
}

absl::StatusOr<LoadedSession> FaultyStore::LoadForOutcome(const SessionKey& key,
                                                          const RequestId& request) {
  return Through(FaultyCall::kLoad, [&] { return store_->LoadForOutcome(key, request); });
}

absl::StatusOr<CommitResult> FaultyStore::Commit(const Change& change) {
  return Through(FaultyCall::kCommit, [&]() -> absl::StatusOr<CommitResult> {
    RETURN_IF_ERROR(RunInjected(change.key));
    return grouped_ ? CommitInGroup(*store_, change) : store_->Commit(change);
  });
}

std::vector<GroupedResult> FaultyStore::CommitMany(const std::vector<GroupedChange>& changes) {
  std::vector<GroupedResult> results(changes.size());
  const Fault of_all = Take(FaultyCall::kCommitMany);
  if (of_all.held) of_all.held->Wait();
  if (!of_all.before.ok()) return results;
  std::vector<GroupedChange> passed;
  std::vector<size_t> places;
  std::vector<Fault> faults;
  for (size_t place = 0; place < changes.size(); ++place) {
    Fault fault = Take(FaultyCall::kCommit);
    if (fault.held) fault.held->Wait();
    if (!fault.before.ok() || !RunInjected(changes[place].change->key).ok()) continue;
    passed.push_back(changes[place]);
    places.push_back(place);
    faults.push_back(std::move(fault));
  }
  std::vector<GroupedResult> answers = store_->CommitMany(passed);
  for (size_t i = 0; i < answers.size(); ++i) {
    const bool lost = !of_all.after.ok() || !faults[i].after.ok();
    GroupedResult& result = results[places[i]];
    if (lost) {
      result.kind = GroupedResult::Kind::kInDoubt;
    } else {
      result = std::move(answers[i]);
    }
  }
  return results;
}

absl::Status FaultyStore::StageUpload(const SessionKey& key, const UploadId& upload,
                                      uint64_t offset, std::string_view bytes) {
  return Through(FaultyCall::kStage,
                 [&] { return store_->StageUpload(key, upload, offset, bytes); });
}

absl::Status FaultyStore::DropUpload(const SessionKey& key, const UploadId& upload) {
  return Through(FaultyCall::kStage, [&] { return store_->DropUpload(key, upload); });
}

absl::StatusOr<std::string> FaultyStore::ReadStaged(const SessionKey& key, const StagedBytes& bytes,
                                                    uint64_t offset, size_t count) {
  return Through(FaultyCall::kRead, [&] { return store_->ReadStaged(key, bytes, offset, count); });
}

absl::StatusOr<MessagePage> FaultyStore::ReadMessages(const SessionKey& key,
                                                      std::optional<Revision> revision,
                                                      MessageSeq after, PageLimit limit) {
  return Through(FaultyCall::kRead,
                 [&] { return store_->ReadMessages(key, revision, after, limit); });
}

absl::StatusOr<SlotPage> FaultyStore::ReadSlots(const SessionKey& key, const SlotQuery& query) {
  return Through(FaultyCall::kRead, [&] { return store_->ReadSlots(key, query); });
}

absl::StatusOr<JournalPage> FaultyStore::ReadJournal(const SessionKey& key,
                                                     const JournalQuery& query, PageLimit limit) {
  return Through(FaultyCall::kRead, [&] { return store_->ReadJournal(key, query, limit); });
}

absl::StatusOr<EventPage> FaultyStore::ReadEvents(const SessionKey& key, EventSeq after,
                                                  PageLimit limit) {
  return Through(FaultyCall::kRead, [&] { return store_->ReadEvents(key, after, limit); });
}

absl::StatusOr<Event> FaultyStore::ReadLastEvent(const SessionKey& key) {
  return Through(FaultyCall::kRead, [&] { return store_->ReadLastEvent(key); });
}

absl::StatusOr<Wakeups> FaultyStore::WaitForEvents(absl::Duration at_most) {
  return Through(FaultyCall::kWait, [&] { return store_->WaitForEvents(at_most); });
}

absl::StatusOr<AuditPage> FaultyStore::ReadAudit(const SessionKey& key, AuditSeq after,
                                                 PageLimit limit) {
  return Through(FaultyCall::kRead, [&] { return store_->ReadAudit(key, after, limit); });
}

void FaultyStore::ListIncompletely() {
  const absl::MutexLock lock(&mutex_);
  incomplete_ = true;
}

absl::StatusOr<ListPage> FaultyStore::List(const ListQuery& query) {
  auto page = Through(FaultyCall::kList, [&] { return store_->List(query); });
  const absl::MutexLock lock(&mutex_);
  if (page.ok() && std::exchange(incomplete_, false)) page->complete = false;
  return page;
}

absl::StatusOr<std::vector<SessionKey>> FaultyStore::ListDue(DueKind kind, absl::Duration quiet,
                                                             const std::optional<SessionKey>& after,
                                                             size_t limit) {
  return Through(FaultyCall::kList, [&] { return store_->ListDue(kind, quiet, after, limit); });
}

std::vector<absl::StatusOr<Renewed>> FaultyStore::RenewLeases(
    const std::vector<RenewRequest>& requests) {
  const Fault fault = Take(FaultyCall::kRenew);
  if (fault.held) fault.held->Wait();
  const auto failed = [&](const absl::Status& error) {
    return std::vector<absl::StatusOr<Renewed>>(requests.size(), error);
  };
  if (!fault.before.ok()) return failed(fault.before);
  auto answers = store_->RenewLeases(requests);
  return fault.after.ok() ? std::move(answers) : failed(fault.after);
}

absl::StatusOr<StoreCheck> FaultyStore::Check() {
  return Through(FaultyCall::kHealth, [&] { return store_->Check(); });
}

absl::Status FaultyStore::CheckHealth() {
  return Through(FaultyCall::kHealth, [&] { return store_->CheckHealth(); });
}

}  // namespace holdfast::test
