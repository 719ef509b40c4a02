#include "tests/support/faulty_store.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "tests/support/grouped_commit.h"

#include <algorithm>
#include <utility>

namespace holdfast::test {

namespace {

// The faults that concern `call`, if there are any.
std::optional<FaultyCall> FaultsOf(StoreCall call) {
  switch (call) {
    case StoreCall::kInit:
    case StoreCall::kActivate:
    case StoreCall::kDeactivate:
      return std::nullopt;
    case StoreCall::kLoadForDecision:
    case StoreCall::kLoadForOutcome:
      return FaultyCall::kLoad;
    case StoreCall::kCommit:
      return FaultyCall::kCommit;
    case StoreCall::kStageUpload:
    case StoreCall::kDropUpload:
      return FaultyCall::kStage;
    case StoreCall::kReadStaged:
    case StoreCall::kReadMessages:
    case StoreCall::kReadSlots:
    case StoreCall::kReadJournal:
    case StoreCall::kReadEvents:
    case StoreCall::kReadItems:
    case StoreCall::kReadAudit:
      return FaultyCall::kRead;
    case StoreCall::kList:
    case StoreCall::kListDue:
      return FaultyCall::kList;
    case StoreCall::kRenewLeases:
      return FaultyCall::kRenew;
    case StoreCall::kCheckHealth:
    case StoreCall::kCheck:
      return FaultyCall::kHealth;
  }
  return std::nullopt;
}

}  // namespace

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

absl::Status FaultyStore::Through(FaultyCall call, absl::FunctionRef<absl::Status()> act) {
  const Fault fault = Take(call);
  if (fault.held) fault.held->Wait();
  if (!fault.before.ok()) return fault.before;
  absl::Status status = act();
  if (!fault.after.ok()) return fault.after;
  return status;
}

absl::Status FaultyStore::Around(StoreCall call, absl::FunctionRef<absl::Status()> act) {
  const std::optional<FaultyCall> faults = FaultsOf(call);
  return faults ? Through(*faults, act) : act();
}

StoreDescription FaultyStore::Describe() const {
  StoreDescription description = store().Describe();
  description.groups_at_once = std::max(description.groups_at_once, groups_at_once_);
  return description;
}

absl::StatusOr<LoadedSession> FaultyStore::LoadForDecision(
    const SessionKey& key, const std::optional<RequestId>& request) {
  return Surrounded(StoreCall::kLoadForDecision, [&]() -> absl::StatusOr<LoadedSession> {
    RETURN_IF_ERROR(RunInjected(key));
    return store().LoadForDecision(key, request);
  });
}

absl::StatusOr<CommitResult> FaultyStore::Commit(const Change& change) {
  return Surrounded(StoreCall::kCommit, [&]() -> absl::StatusOr<CommitResult> {
    RETURN_IF_ERROR(RunInjected(change.key));
    return grouped_ ? CommitInGroup(store(), change) : store().Commit(change);
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
  std::vector<GroupedResult> answers = store().CommitMany(passed);
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

absl::StatusOr<Wakeups> FaultyStore::WaitForEvents(absl::Duration at_most) {
  absl::StatusOr<Wakeups> wakeups;
  RETURN_IF_ERROR(Through(FaultyCall::kWait, [&] {
    wakeups = store().WaitForEvents(at_most);
    return wakeups.status();
  }));
  return wakeups;
}

void FaultyStore::ListIncompletely() {
  const absl::MutexLock lock(&mutex_);
  incomplete_ = true;
}

absl::StatusOr<ListPage> FaultyStore::List(const ListQuery& query) {
  auto page = ForwardingStore::List(query);
  const absl::MutexLock lock(&mutex_);
  if (page.ok() && std::exchange(incomplete_, false)) page->complete = false;
  return page;
}

}  // namespace holdfast::test
