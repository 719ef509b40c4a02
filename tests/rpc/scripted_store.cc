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

int Script::Calls(StoreCall call) {
  const absl::MutexLock lock(&mutex_);
  return calls_[call];
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

absl::Status Script::Before(StoreCall call) {
  switch (call) {
    case StoreCall::kInit:
    case StoreCall::kCheckHealth:
      return Health();
    case StoreCall::kActivate:
    case StoreCall::kDeactivate:
    case StoreCall::kListDue:
    case StoreCall::kRenewLeases:
      return absl::OkStatus();
    default:
      return Enter(call);
  }
}

absl::Status Script::Enter(StoreCall call) {
  AssertOffTransport("a call of the store");
  const absl::MutexLock lock(&mutex_);
  ++calls_[call];
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

absl::Status ScriptedStore::Around(StoreCall call, absl::FunctionRef<absl::Status()> act) {
  RETURN_IF_ERROR(script_.Before(call));
  return act();
}

absl::StatusOr<LoadedSession> ScriptedStore::LoadForDecision(
    const SessionKey& key, const std::optional<RequestId>& request) {
  return Surrounded(StoreCall::kLoadForDecision, [&] {
    absl::StatusOr<LoadedSession> loaded = store().LoadForDecision(key, request);
    script_.CountLoad();
    return loaded;
  });
}

StoreDescription ScriptedStore::Describe() const {
  StoreDescription description = store().Describe();
  if (script_.offers_groups_) description.groups_at_once = 1;
  return description;
}

std::vector<GroupedResult> ScriptedStore::CommitMany(const std::vector<GroupedChange>& changes) {
  ++script_.groups_;
  // NOLINTNEXTLINE(bugprone-parent-virtual-call): each change passes through Commit of this class
  std::vector<GroupedResult> results = SessionStore::CommitMany(changes);
  if (!script_.loses_groups_) return results;
  for (GroupedResult& result : results) result.kind = GroupedResult::Kind::kInDoubt;
  return results;
}

std::shared_ptr<const Head> ScriptedStore::CachedHead(const SessionKey& key) {
  auto head = store().CachedHead(key);
  script_.CountLookup();
  return head;
}

absl::StatusOr<EventPage> ScriptedStore::ReadEvents(const SessionKey& key, EventSeq after,
                                                    PageLimit limit) {
  script_.CountEventRead();
  return ForwardingStore::ReadEvents(key, after, limit);
}

absl::StatusOr<Wakeups> ScriptedStore::WaitForEvents(absl::Duration at_most) {
  auto wakeups = ForwardingStore::WaitForEvents(at_most);
  if (wakeups.ok() && script_.LosesWakeups()) return Wakeups();
  return wakeups;
}

}  // namespace holdfast::test
