#include "tests/support/reference_store.h"

#include "platform/status_macros.h"
#include "session/bounds.h"
#include "session/cancel_requests.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::test {
namespace {

Refusal NotFound() { return {Reason::kSessionNotFound, "no session has this id"}; }
Refusal Tombstoned() { return {Reason::kTombstoned, "the session was deleted"}; }

Refusal Foreign(const StoreId& stored, const StoreId& active) {
  return Refusal(Reason::kResumeMismatch, "this session belongs to another store")
      .With("stored", stored.value())
      .With("active", active.value());
}

Refusal Reused() { return {Reason::kRequestIdReused, "this id has been used for something else"}; }

bool SameMeaning(const RequestStamp& a, const RequestStamp& b) {
  return a.method == b.method && a.fingerprint == b.fingerprint;
}

// An entry without what the store adds to it.
JournalEntry AsGiven(JournalEntry entry) {
  entry.journal_number = JournalNumber();
  if (entry.slot) entry.slot->revision = Revision();
  return entry;
}

// The first entry of `entries` that is there already with another content, or nullptr.
const JournalEntry* FindRewritten(const StoredSession& session,
                                  const std::vector<JournalEntry>& entries) {
  const auto found = std::ranges::find_if(entries, [&](const JournalEntry& entry) {
    const auto there = std::ranges::find_if(session.entries, [&](const JournalEntry& kept) {
      return kept.turn == entry.turn && kept.number == entry.number;
    });
    return there != session.entries.end() && AsGiven(*there) != AsGiven(entry);
  });
  return found == entries.end() ? nullptr : &*found;
}

void PutSlot(StoredSession& session, Revision from, Slot slot) {
  slot.revision = from;
  session.slots[slot.owner].push_back({.from = from, .slot = slot});
}

void StoreSlots(StoredSession& session, const Applied& applied) {
  const Revision now = applied.head.revision;
  if (applied.applied_turn) {
    for (const JournalEntry& entry : session.entries) {
      if (entry.turn != *applied.applied_turn || entry.number <= applied.applied_after) continue;
      if (entry.slot) PutSlot(session, now, *entry.slot);
    }
  }
  for (const Slot& slot : applied.slots) PutSlot(session, now, slot);
  for (const std::string& owner : applied.deleted_slots) {
    session.slots[owner].push_back({.from = now, .slot = std::nullopt});
  }
  for (const JournalEntry& entry : applied.entries) {
    if (entry.turn == TurnNumber() && entry.slot) PutSlot(session, now, *entry.slot);
  }
}

SlotOwners OwnersOf(const StoredSession& session) {
  SlotOwners owners;
  for (const auto& [owner, versions] : session.slots) {
    if (versions.back().slot) owners.Add(owner);
  }
  if (!session.head.turn) return owners;
  for (const JournalEntry& entry : session.entries) {
    const bool pending = entry.turn == session.head.turn->number &&
                         entry.number > session.head.turn->applied_entry && entry.slot.has_value();
    if (pending) owners.AddPending(entry.slot->owner);
  }
  return owners;
}

std::optional<Refusal> CheckBounds(const StoredSession* session, const Head& before,
                                   const Applied& applied) {
  if (auto refusal = CheckAttributes(before, applied.head)) return refusal;
  SlotOwners owners = session == nullptr ? SlotOwners() : OwnersOf(*session);
  const size_t there = owners.size();
  owners.Take(applied);
  return CheckSlotCount(there, owners.size());
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
  if (session.tombstone) return Tombstoned();
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
    if (!change.create) return NotFound();
    return std::nullopt;
  }
  const auto id = change.request ? std::optional(change.request->id) : std::nullopt;
  if (const auto row = KeptRequest(*session, id)) {
    if (!SameMeaning(row->stamp, *change.request)) return Reused();
    return CommitResult{.kind = CommitResult::Kind::kRepeated,
                        .receipt = row->receipt,
                        .head = HeadNow(change.key, *session)};
  }
  if (change.create) return Refusal(Reason::kSessionExists, "the id is taken: resume the session");
  return std::nullopt;
}

absl::StatusOr<CommitResult> ReferenceStore::Commit(const Change& change) {
  const absl::MutexLock lock(&mutex_);
  const auto found = Find(change.key);
  const bool absent = Is(found.status(), Reason::kSessionNotFound);
  if (!found.ok() && !absent) return found.status();
  StoredSession* const session = absent ? nullptr : *found;
  ASSIGN_OR_RETURN(std::optional<CommitResult> early, AnswerEarly(change, session));
  if (early) return *early;
  return Decide(change, session);
}

absl::StatusOr<CommitResult> ReferenceStore::Decide(const Change& change, StoredSession* session) {
  const StoreFacts facts{.store = disk_->store,
                         .incarnation = disk_->incarnation,
                         .now = clock_.Wall(),
                         .clock = Now()};
  const Head before = session == nullptr ? EmptyHead(facts) : HeadNow(change.key, *session);
  if (const auto refusal = CheckGuard(before, change.guard, change.entries)) {
    return CommitResult{
        .kind = CommitResult::Kind::kRefused, .head = before, .refusal = refusal->ToStatus()};
  }
  const JournalEntry* const rewritten =
      session == nullptr ? nullptr : FindRewritten(*session, change.entries);
  if (rewritten != nullptr) {
    return CommitResult{.kind = CommitResult::Kind::kRefused,
                        .head = before,
                        .refusal = Reused()
                                       .With("turn", rewritten->turn.value())
                                       .With("number", rewritten->number.value())};
  }
  if (change.premise && session != nullptr && !Holds(*change.premise, before)) {
    return CommitResult{.kind = CommitResult::Kind::kMoved, .head = before};
  }
  if (change.upload && !HasStaged(change.key, *change.upload)) {
    return CommitResult{.kind = CommitResult::Kind::kRefused,
                        .head = before,
                        .refusal = StoreUnavailable("the upload is not there", Fate::kNoEffect)};
  }
  const Applied applied = Apply(before, change, facts);
  if (auto refusal = CheckBounds(session, before, applied)) {
    return CommitResult{
        .kind = CommitResult::Kind::kRefused, .head = before, .refusal = refusal->ToStatus()};
  }
  if (disk_->fails_writes) {
    state_ = State::kFailed;
    return StoreUnavailable("the write failed: start again", Fate::kUnknown);
  }
  Store(change, applied);
  return CommitResult{.receipt = applied.receipt, .head = applied.head, .events = applied.events};
}

void ReferenceStore::Store(const Change& change, const Applied& applied) {
  StoredSession& session = disk_->sessions[change.key];
  if (applied.tombstone) session = StoredSession();  // nothing of it stays but that it was
  if (change.replaces_history) {
    session.former[session.head.generation] = std::exchange(session.messages, {});
  }
  session.head = applied.head;
  session.tombstone = applied.tombstone;
  StoreSlots(session, applied);
  Append(session.messages, applied.messages);
  Append(session.entries, applied.entries);
  Append(session.events, applied.events);
  if (!applied.events.empty()) change_notifier_.Notify(change.key);
  if (applied.audit) session.audit.push_back(*applied.audit);
  if (applied.upload) {
    session.uploads[applied.upload->id] = std::move(disk_->staged[applied.upload->id].bytes);
    disk_->staged.erase(applied.upload->id);
  }
  if (applied.request) {
    session.requests[applied.request->id] = {
        .stamp = *applied.request, .receipt = applied.receipt, .at = Now()};
  }
  Live& live = LiveOf(change.key, session);
  live.active_at = clock_.SinceBoot();
  if (EndingCancelRequest(session.head) == nullptr) {
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
  if (const auto refusal = CheckGuard(head, guard, {})) return refusal->ToStatus();
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
