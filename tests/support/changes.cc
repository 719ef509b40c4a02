#include "tests/support/changes.h"

#include "platform/digest.h"

#include "absl/time/time.h"

#include <utility>

namespace holdfast::test {
namespace {

constexpr int kUuidVersion = 4;
constexpr absl::Duration kTtl = absl::Seconds(60);

void AddEvent(Change& change, std::string_view event, std::vector<Given> given = {}) {
  change.events.push_back(
      {.name = std::string(event), .payload = {{"from", "a case"}}, .given = std::move(given)});
}

void Note(Change& change, std::string_view code) {
  change.audit = AuditDraft{
      .audit_class = "SessionLifecycle", .code = std::string(code), .data = {{"by", "a case"}}};
}

}  // namespace

SessionKey Key(std::string_view session, std::string_view tenant) {
  return {.tenant = *TenantId::Parse(tenant), .session = *SessionId::Parse(session)};
}

RequestId NewRequest(Random& random) {
  return *RequestId::Parse(UuidText(random.Bytes(16), kUuidVersion));
}

RequestStamp Stamp(Random& random, Method method, std::string_view meaning) {
  return {.id = NewRequest(random), .method = method, .fingerprint = Sha256(meaning)};
}

Message Text(std::string_view data) {
  return {.role = "user", .content_type = "text/plain", .data = std::string(data)};
}

ItemPut Put(std::string_view key, std::string_view data) {
  ItemPut put;
  put.item.name = {.collection = "notes", .key = std::string(key)};
  put.item.data = data;
  return put;
}

ItemPut PutIfAbsent(std::string_view key, std::string_view data) {
  ItemPut put = Put(key, data);
  put.condition = PutCondition::kIfAbsent;
  return put;
}

ItemPut PutOnVersion(std::string_view key, std::string_view data, ItemVersion expected) {
  ItemPut put = Put(key, data);
  put.condition = PutCondition::kIfVersion;
  put.expected = expected;
  return put;
}

Slot MakeSlot(std::string_view owner, std::string_view data, std::string_view version) {
  return {.owner = std::string(owner), .version = std::string(version), .data = std::string(data)};
}

JournalEntry Note(TurnNumber turn, uint64_t number, std::string_view data) {
  return {.turn = turn,
          .number = EntryNumber(number),
          .kind = JournalKind::kNote,
          .ref = "note-" + std::to_string(number),
          .data = std::string(data)};
}

JournalEntry SlotUpdate(TurnNumber turn, uint64_t number, Slot slot) {
  return {.turn = turn,
          .number = EntryNumber(number),
          .kind = JournalKind::kSlotUpdate,
          .slot = std::move(slot)};
}

Change Changes::Start(Trigger trigger, Method method) {
  Change change{.key = key_, .request = Stamp(random_, method)};
  change.guard.trigger = trigger;
  change.correlation_id = "case-1";
  change.trace.id = "0123456789abcdef0123456789abcdef";
  return change;
}

Change Changes::Held(Trigger trigger, Method method, const LeaseToken& token) {
  Change change = Start(trigger, method);
  change.guard.lease = LeaseRule::kMustHold;
  change.guard.token = token;
  change.renews_lease = true;
  return change;
}

Grant Changes::NewGrant() {
  return {.holder = "holder", .ttl = kTtl, .secret = random_.Bytes(kSecretBytes)};
}

Change Changes::Create() {
  Change change = Start(Trigger::kUpdate, Method::kCreate);
  change.create = Creation{.uid = *SessionUid::Parse(UuidText(random_.Bytes(16), kUuidVersion)),
                           .mode = Mode::kAsk,
                           .project_root = "/projects/engine"};
  change.moves_revision = true;
  change.grant = NewGrant();
  change.to = Lifecycle::kIdle;
  change.snapshot = true;
  AddEvent(change, "SessionStarted", {Given::kEpoch});
  Note(change, "create");
  return change;
}

Change Changes::Begin(const LeaseToken& token) {
  Change change = Held(Trigger::kBeginTurn, Method::kBeginTurn, token);
  change.moves_revision = true;
  change.to = Lifecycle::kActive;
  change.begin_turn = BeginTurn{.source = TurnSource::kUser};
  AddEvent(change, "SessionTurnStart", {Given::kTurn});
  Note(change, "turn-begin");
  return change;
}

Change Changes::CommitTurn(const LeaseToken& token, TurnNumber turn) {
  Change change = Held(Trigger::kCommitTurn, Method::kCommitTurn, token);
  change.guard.turn = turn;
  change.moves_revision = true;
  change.end_turn = EndTurn{.outcome = TurnOutcome::kOk, .committed = true};
  change.to = Lifecycle::kPersisted;
  change.snapshot = true;
  AddEvent(change, "SessionTurnEnd");
  AddEvent(change, "SessionPersisted");
  Note(change, "persist");
  return change;
}

Change Changes::KeepTurn(const LeaseToken& token, TurnNumber turn) {
  Change change = Held(Trigger::kCommitTurn, Method::kCommitTurn, token);
  change.guard.turn = turn;
  change.moves_revision = true;
  change.keeps_turn = true;
  change.to = Lifecycle::kActive;
  change.snapshot = true;
  AddEvent(change, "SessionPersisted");
  Note(change, "save");
  return change;
}

Change Changes::Write(const LeaseToken& token) {
  Change change = Held(Trigger::kWrite, Method::kWrite, token);
  change.moves_revision = true;
  change.to = Lifecycle::kPersisted;
  change.snapshot = true;
  AddEvent(change, "SessionPersisted");
  Note(change, "persist");
  return change;
}

Change Changes::Abandon(const LeaseToken& token, TurnNumber turn) {
  Change change = Held(Trigger::kAbandonTurn, Method::kAbandonTurn, token);
  change.guard.turn = turn;
  change.moves_revision = true;
  change.end_turn = EndTurn{.outcome = TurnOutcome::kAbandoned};
  change.to = Lifecycle::kPersisted;
  AddEvent(change, "SessionTurnEnd");
  Note(change, "turn-abandon");
  return change;
}

Change Changes::Append(const LeaseToken& token, TurnNumber turn,
                       std::vector<JournalEntry> entries) {
  Change change = Held(Trigger::kAppendJournal, Method::kWrite, token);
  change.request.reset();
  change.guard.turn = turn;
  change.entries = std::move(entries);
  return change;
}

Change Changes::Resume(LeaseRule rule) {
  Change change = Start(Trigger::kResume, Method::kResume);
  change.guard.lease = rule;
  change.moves_revision = true;
  change.grant = NewGrant();
  change.to = Lifecycle::kResumed;
  AddEvent(change, "SessionResumeStarted");
  AddEvent(change, "SessionLeaseChanged", {Given::kEpoch});
  Note(change, "resume");
  return change;
}

Change Changes::ResumeActive() {
  Change change = Resume(LeaseRule::kForce);
  change.end_turn = EndTurn{.outcome = TurnOutcome::kRecovered};
  return change;
}

Change Changes::Release(const LeaseToken& token) {
  Change change = Held(Trigger::kRelease, Method::kRelease, token);
  change.renews_lease = false;
  change.ends_lease = true;
  AddEvent(change, "SessionLeaseChanged", {Given::kEpoch});
  Note(change, "release");
  return change;
}

Change Changes::Close(const LeaseToken& token) {
  Change change = Held(Trigger::kClose, Method::kClose, token);
  change.renews_lease = false;
  change.moves_revision = true;
  change.ends_lease = true;
  change.to = Lifecycle::kClosed;
  change.close_reason = CloseReason::kExplicit;
  AddEvent(change, "SessionClosed");
  Note(change, "close");
  return change;
}

Change Changes::Delete() {
  Change change = Start(Trigger::kDelete, Method::kDelete);
  change.guard.lease = LeaseRule::kFreeOrExpired;
  change.moves_revision = true;
  change.tombstone = true;
  AddEvent(change, "SessionDeleted");
  Note(change, "delete");
  return change;
}

Change Changes::PutItems(ItemWrites writes) {
  Change change = Start(Trigger::kPutItems, Method::kPutItems);
  change.items = std::move(writes);
  Note(change, "put");
  return change;
}

Change Changes::Update(AttributePatch attributes) {
  Change change = Start(Trigger::kUpdate, Method::kUpdate);
  change.attributes = std::move(attributes);
  Note(change, "update");
  return change;
}

Change Changes::RequestCancel(CancelScope scope, TurnNumber turn, std::string_view name) {
  Change change = Start(Trigger::kCancel, Method::kCancel);
  change.cancel_request = CancelRequest{.scope = scope,
                                        .reason = CancelReason::kUser,
                                        .turn = turn,
                                        .name = std::string(name),
                                        .at = {}};
  AddEvent(change, "SessionCancelRequested");
  Note(change, "cancel");
  return change;
}

Change Changes::Recover(Epoch epoch, TurnNumber turn) {
  Change change = Start(Trigger::kRecover, Method::kClose);
  change.request.reset();
  change.guard.lease = LeaseRule::kFreeOrExpired;
  change.premise = Premise{.lifecycle = Lifecycle::kActive, .active_turn = turn, .epoch = epoch};
  change.moves_revision = true;
  change.raises_epoch = true;
  change.end_turn = EndTurn{.outcome = TurnOutcome::kRecovered};
  change.to = Lifecycle::kClosed;
  change.close_reason = CloseReason::kCrash;
  AddEvent(change, "SessionClosed");
  Note(change, "recover");
  return change;
}

}  // namespace holdfast::test
