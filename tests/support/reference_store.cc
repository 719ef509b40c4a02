#include "tests/support/reference_store.h"

#include "platform/status_macros.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"
#include "tests/support/reference_bounds.h"
#include "tests/support/reference_rules.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::test {
namespace {

Refusal NotFound() { return {Reason::kSessionNotFound, "no session has this id"}; }
Refusal Tombstoned(const StoredSession& session) {
  return Refusal(Reason::kTombstoned, "the session was deleted")
      .With("session_uid", session.head.uid.value());
}

Refusal Foreign(const StoreId& stored, const StoreId& active) {
  return Refusal(Reason::kResumeMismatch, "this session belongs to another store")
      .With("stored", stored.value())
      .With("active", active.value());
}

Refusal Reused(const RequestStamp& by) {
  return Refusal(Reason::kRequestIdReused, "this id has been used for something else")
      .With("request_id", by.id.value())
      .With("method", Name(by.method));
}

bool SameMeaning(const RequestStamp& a, const RequestStamp& b) {
  return a.method == b.method && a.fingerprint == b.fingerprint;
}

// A refusal on `head`, which stays as it is.
CommitResult Refuse(const Refusal& refusal, const Head& head) {
  return {.kind = CommitResult::Kind::kRefused, .head = head, .refusal = refusal.ToStatus()};
}

// A receipt says nothing of items that are the store's own.
void TakeItems(ItemsAfter written, bool in_receipt, Effects& effects) {
  effects.head.items_version = written.version;
  effects.items = std::move(written.items);
  if (!in_receipt) return;
  effects.receipt.items_version = written.version;
  effects.receipt.puts = std::move(written.puts);
  effects.receipt.items_deleted = written.deleted;
}

// A session of which nothing is there.
const StoredSession& NoSession() {
  static const StoredSession session;
  return session;
}

template <typename Item>
void Append(std::vector<Item>& to, const std::vector<Item>& items) {
  to.insert(to.end(), items.begin(), items.end());
}

}  // namespace

ReferenceDisk NewReferenceDisk(Random& random) {
  constexpr int kRandomUuid = 4;
  return {.store = *StoreId::Parse(UuidText(random.Bytes(16), kRandomUuid))};
}

ReferenceStore::ReferenceStore(std::shared_ptr<ReferenceDisk> disk, const Clock& clock)
    : disk_(std::move(disk)), clock_(clock), opened_at_(clock.SinceBoot()) {}

StoreDescription ReferenceStore::Describe() const {
  return {.kind = "reference",
          .contract_version = "1.0.0",
          .store = disk_->store,
          .incarnation = disk_->incarnation,
          .snapshot_bytes_limit = kSnapshotBytes,
          .large_slot_streaming = true,
          .durability = "sync"};
}

absl::Status ReferenceStore::Init() {
  if (disk_->writable) return absl::OkStatus();
  return StoreUnavailable("the reference disk is read-only: make it writable and start again",
                          Fate::kNoEffect);
}

absl::Status ReferenceStore::Activate() {
  const absl::MutexLock lock(&mutex_);
  state_ = State::kServing;
  opened_at_ = clock_.SinceBoot();
  return absl::OkStatus();
}

// Uploads that are not linked end with the process that staged them.
absl::Status ReferenceStore::Deactivate() {
  change_notifier_.Shutdown();
  const absl::MutexLock lock(&mutex_);  // waits for calls in progress
  disk_->staged.clear();
  state_ = State::kClosed;
  return absl::OkStatus();
}

void ReferenceStore::Dispose() {
  const absl::MutexLock lock(&mutex_);
  state_ = State::kClosed;
  live_.clear();
}

absl::StatusOr<Wakeups> ReferenceStore::WaitForEvents(absl::Duration at_most) {
  return change_notifier_.Wait(at_most);
}

absl::StatusOr<StoreCheck> ReferenceStore::Check() {
  const absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Serving());
  if (disk_->writable && !disk_->fails_writes) return StoreCheck();
  return StoreUnavailable("the reference disk takes no writes: make it writable", Fate::kNoEffect);
}

absl::Status ReferenceStore::CheckHealth() {
  const absl::MutexLock lock(&mutex_);
  return Serving();
}

absl::Status ReferenceStore::Serving() const {
  if (state_ == State::kServing) return absl::OkStatus();
  return StoreUnavailable(
      state_ == State::kFailed ? "a write failed: start again" : "the store is not open",
      Fate::kNoEffect);
}

absl::StatusOr<StoredSession*> ReferenceStore::Find(const SessionKey& key) {
  RETURN_IF_ERROR(Serving());
  const auto found = disk_->sessions.find(key);
  if (found == disk_->sessions.end()) return NotFound();
  StoredSession& session = found->second;
  if (session.head.store != disk_->store) return Foreign(session.head.store, disk_->store);
  if (session.tombstone) return Tombstoned(session);
  if (session.damaged) return Refusal(Reason::kManifestDrift, "the manifest cannot be read");
  return &session;
}

ReferenceStore::Live& ReferenceStore::LiveOf(const SessionKey& key, const StoredSession& session) {
  // A lease that was not renewed since the store was opened lasts one full TTL from then.
  const Live fresh{.lease_ends = opened_at_ + session.head.lease.ttl,
                   .active_at = opened_at_,
                   .cancel_seen_at = std::nullopt};
  return live_.try_emplace(key, fresh).first->second;
}

Head ReferenceStore::HeadNow(const SessionKey& key, const StoredSession& session) {
  Head head = session.head;
  head.incarnation = disk_->incarnation;
  std::erase_if(head.grants,
                [&](const GrantRecord& grant) { return grant.at + kRequestsKept < Now(); });
  LeaseRecord& lease = head.lease;
  const absl::Duration left = LiveOf(key, session).lease_ends - clock_.SinceBoot();
  lease.expires_in = lease.held ? std::max(left, absl::ZeroDuration()) : absl::ZeroDuration();
  lease.state = LeaseState::kFree;
  if (lease.held) {
    lease.state = left > absl::ZeroDuration() ? LeaseState::kLive : LeaseState::kExpired;
  }
  return head;
}

std::optional<RequestRow> ReferenceStore::KeptRequest(const StoredSession& session,
                                                      const std::optional<RequestId>& id) const {
  if (!id) return std::nullopt;
  const auto found = session.requests.find(*id);
  if (found == session.requests.end()) return std::nullopt;
  RequestRow row = found->second;
  if (row.at + kRequestsKept < Now()) return std::nullopt;
  // The token is wiped when its epoch has passed.
  if (row.receipt.epoch < session.head.lease.epoch) row.receipt.token.clear();
  return row;
}

absl::StatusOr<LoadedSession> ReferenceStore::LoadForDecision(
    const SessionKey& key, const std::optional<RequestId>& request) {
  const absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const StoredSession* session, Find(key));
  return LoadedSession{.head = HeadNow(key, *session), .request = KeptRequest(*session, request)};
}

absl::StatusOr<LoadedSession> ReferenceStore::LoadForOutcome(const SessionKey& key,
                                                             const RequestId& request) {
  return LoadForDecision(key, request);  // its disk is as safe as it gets
}

std::shared_ptr<const Head> ReferenceStore::CachedHead(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto session = Find(key);
  return session.ok() ? std::make_shared<const Head>(HeadNow(key, **session)) : nullptr;
}

absl::StatusOr<std::optional<CommitResult>> ReferenceStore::AnswerEarly(const Change& change,
                                                                        StoredSession* session) {
  if (session == nullptr) {
    if (!change.create || change.create->replaces) return NotFound();
    return std::nullopt;
  }
  const auto id = change.request ? std::optional(change.request->id) : std::nullopt;
  if (const auto row = KeptRequest(*session, id)) {
    if (!SameMeaning(row->stamp, *change.request)) return Reused(row->stamp);
    return CommitResult{.kind = CommitResult::Kind::kRepeated,
                        .receipt = row->receipt,
                        .head = HeadNow(change.key, *session)};
  }
  if (change.create) return Refusal(Reason::kSessionExists, "the id is taken: resume the session");
  return std::nullopt;
}

// C290, C291.
bool ReferenceStore::TakesThePlaceOf(const Change& change) const {
  return change.create && change.create->replaces == disk_->sessions.at(change.key).head.uid;
}

absl::StatusOr<CommitResult> ReferenceStore::Commit(const Change& change) {
  const absl::MutexLock lock(&mutex_);
  const auto found = Find(change.key);
  if (Is(found.status(), Reason::kTombstoned) && TakesThePlaceOf(change)) {
    return Decide(change, nullptr);
  }
  const bool absent = Is(found.status(), Reason::kSessionNotFound);
  if (!found.ok() && !absent) return found.status();
  StoredSession* const session = absent ? nullptr : *found;
  ASSIGN_OR_RETURN(std::optional<CommitResult> early, AnswerEarly(change, session));
  if (early) return *early;
  return Decide(change, session);
}

absl::StatusOr<CommitResult> ReferenceStore::Decide(const Change& change, StoredSession* session) {
  const Moment moment{.store = disk_->store,
                      .incarnation = disk_->incarnation,
                      .wall = clock_.Wall(),
                      .clock = Now(),
                      .snapshots_kept = disk_->retention.snapshots};
  const StoredSession& stored = session == nullptr ? NoSession() : *session;
  Head before = session == nullptr ? HeadOfNone(moment) : HeadNow(change.key, stored);
  if (change.create && change.create->replaces) {
    before.generation = disk_->sessions.at(change.key).head.generation;  // C293
  }
  const Demand demand{
      .head = before, .journal = stored.entries, .guard = change.guard, .entries = change.entries};
  if (const auto refusal = FirstBrokenRule(demand)) return Refuse(*refusal, before);
  if (change.premise && session != nullptr && !IsStillTrue(*change.premise, before)) {
    return CommitResult{.kind = CommitResult::Kind::kMoved, .head = before};
  }
  if (change.upload && !HasStaged(change.key, *change.upload)) {
    return Refuse(StoreUnavailable("the upload is not there", Fate::kNoEffect), before);
  }
  Effects effects = EffectsOf(stored, before, change, moment);
  if (const auto refusal = CheckWhatIsLeft(stored, before, effects)) {
    return Refuse(*refusal, before);
  }
  const ItemWrites writes = ItemsOf(change, before, effects);
  if (!writes.empty()) {
    auto written =
        WriteItems(stored.items, before.items_version, writes, disk_->item_bounds, moment.wall);
    if (const auto* refusal = std::get_if<Refusal>(&written)) return Refuse(*refusal, before);
    TakeItems(std::get<ItemsAfter>(std::move(written)), !change.items.empty(), effects);
  }
  if (disk_->fails_writes) {
    state_ = State::kFailed;
    return StoreUnavailable("the write failed: start again", Fate::kUnknown);
  }
  Store(change, effects);
  return CommitResult{.receipt = effects.receipt, .head = effects.head, .events = effects.events};
}

void ReferenceStore::Store(const Change& change, const Effects& effects) {
  StoredSession& session = disk_->sessions[change.key];
  if (change.tombstone || change.create) session = StoredSession();  // nothing of it stays
  if (effects.begins_with) {
    session.former[session.head.generation] = std::exchange(session.messages, *effects.begins_with);
  }
  session.head = effects.head;
  session.tombstone = change.tombstone;
  for (const SlotWrite& write : effects.slots) {
    session.slots[write.owner].push_back({.from = effects.head.revision, .slot = write.slot});
  }
  Append(session.messages, effects.messages);
  Append(session.entries, effects.entries);
  Append(session.events, effects.events);
  if (!effects.events.empty()) change_notifier_.Notify(change.key);
  if (effects.audit) session.audit.push_back(*effects.audit);
  if (effects.items) session.items = *effects.items;
  if (change.upload) {
    session.uploads[change.upload->id] = std::move(disk_->staged[change.upload->id].bytes);
    disk_->staged.erase(change.upload->id);
  }
  if (change.request) {
    session.requests[change.request->id] = {
        .stamp = *change.request, .receipt = effects.receipt, .at = Now()};
  }
  Live& live = LiveOf(change.key, session);
  live.active_at = clock_.SinceBoot();
  if (!EndIsRequested(session.head)) {
    live.cancel_seen_at.reset();
  } else if (!live.cancel_seen_at) {
    live.cancel_seen_at = clock_.SinceBoot();
  }
  if (change.grant || change.renews_lease) {
    live.lease_ends = clock_.SinceBoot() + session.head.lease.ttl;
  }
}

absl::StatusOr<Renewed> ReferenceStore::Renew(const RenewRequest& request) {
  ASSIGN_OR_RETURN(const StoredSession* session, Find(request.key));
  const Head head = HeadNow(request.key, *session);
  const Guard guard{
      .trigger = Trigger::kRenew, .lease = LeaseRule::kMustHold, .token = request.token};
  const std::vector<JournalEntry> none;
  const Demand demand{.head = head, .journal = session->entries, .guard = guard, .entries = none};
  if (const auto refusal = FirstBrokenRule(demand)) return refusal->ToStatus();
  const absl::Duration ttl = request.ttl.value_or(head.lease.ttl);
  LiveOf(request.key, *session).lease_ends = clock_.SinceBoot() + ttl;
  return Renewed{
      .expires_in = ttl, .revision = head.revision, .cancel_requests = head.cancel_requests};
}

std::vector<absl::StatusOr<Renewed>> ReferenceStore::RenewLeases(
    const std::vector<RenewRequest>& requests) {
  const absl::MutexLock lock(&mutex_);
  std::vector<absl::StatusOr<Renewed>> answers;
  answers.reserve(requests.size());
  for (const RenewRequest& request : requests) answers.push_back(Renew(request));
  return answers;
}

}  // namespace holdfast::test
