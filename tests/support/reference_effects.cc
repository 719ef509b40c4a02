#include "tests/support/reference_effects.h"

#include "platform/digest.h"
#include "session/audit.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/token.h"
#include "tests/support/reference_rules.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace holdfast::test {
namespace {

// Applies one change, a sentence of the contract after the other.
class Applying {
 public:
  Applying(const StoredSession& session, const Head& before, const Change& change,
           const Moment& moment)
      : session_(session), before_(before), change_(change), moment_(moment) {
    out_.head = before;
  }

  Effects Finish() && {
    CreateSession();
    MoveRevision();
    EndTurn();
    KeepTurn();
    ChangeLifecycle();
    ChangeLease();
    AddMessages();
    SetStateMachine();
    AddEntries();
    WriteSnapshot();
    WriteSlotsBetweenTurns();
    BeginTurn();
    ForgetEndedTurns();
    PatchAttributes();
    AddCancelRequest();
    HandOutStateMachine();
    CountContexts();
    AddEvents();
    AddAuditRecord();
    FillReceipt();
    return std::move(out_);
  }

 private:
  // The session's fixed facts, and snapshot 0's generation.
  void CreateSession() {
    if (!change_.create) return;
    out_.head.uid = change_.create->uid;
    out_.head.mode = change_.create->mode;
    out_.head.project_root = change_.create->project_root;
    out_.head.kind = change_.create->kind;
    out_.head.group = change_.create->group;
    out_.head.created_at = moment_.wall;
    out_.head.generation = Generation(before_.generation.value() + 1);
    out_.head.recreated = change_.create->replaces.has_value();
    out_.receipt.created = true;
  }

  // C030, C094.
  void MoveRevision() {
    if (!change_.moves_revision) return;
    out_.head.revision = Revision(before_.revision.value() + 1);
    out_.head.updated_at = moment_.wall;
  }

  // Entries of a turn behind one of its numbers, in their order.
  [[nodiscard]] std::vector<JournalEntry> EntriesOf(TurnNumber turn, EntryNumber after) const {
    std::vector<JournalEntry> found;
    for (const std::vector<JournalEntry>* const entries : {&session_.entries, &out_.entries}) {
      std::ranges::copy_if(*entries, std::back_inserter(found), [&](const JournalEntry& entry) {
        return entry.turn == turn && entry.number > after;
      });
    }
    return found;
  }

  void WriteSlot(Slot slot) {
    slot.revision = out_.head.revision;  // C101
    const std::string owner = slot.owner;
    out_.slots.push_back({.owner = owner, .slot = std::move(slot)});
  }

  void TakeSlotUpdates(const std::vector<JournalEntry>& entries) {
    for (const JournalEntry& entry : entries) {
      if (entry.slot) from_turn_.push_back(*entry.slot);
    }
  }

  // C035, C036, C162, C174.
  void EndTurn() {
    if (!change_.end_turn || !before_.turn) return;
    const TurnRecord& turn = *before_.turn;
    const std::vector<JournalEntry> pending = EntriesOf(turn.number, turn.applied_entry);
    if (change_.end_turn->committed) {
      TakeSlotUpdates(pending);
      ++out_.head.committed_turns;
      if (change_.request) out_.head.last_committed_request = change_.request->id;
      out_.receipt.last_entry = turn.last_entry;
    } else {
      out_.receipt.abandoned_turn = turn.number;
      out_.receipt.entries_dropped = pending.size();
    }
    const std::vector<JournalEntry> all = EntriesOf(turn.number, EntryNumber());
    if (!all.empty()) {
      out_.head.ended.push_back({.turn = turn.number,
                                 .last_entry = turn.last_entry,
                                 .last_journal = all.back().journal_number});
    }
    std::erase_if(out_.head.cancel_requests, [&](const CancelRequest& request) {
      return request.scope != CancelScope::kSession && request.turn == turn.number;
    });
    out_.head.ended_turn_trace = turn.trace;
    out_.head.turn.reset();
  }

  // C172, C173.
  void KeepTurn() {
    if (!change_.keeps_turn || !out_.head.turn) return;
    TurnRecord& turn = *out_.head.turn;
    TakeSlotUpdates(EntriesOf(turn.number, turn.applied_entry));
    turn.applied_entry = turn.last_entry;
    if (change_.request) out_.head.last_committed_request = change_.request->id;
    out_.receipt.last_entry = turn.last_entry;
  }

  // The reason of a close is there while the session is closed. C163: its cancel request too.
  void ChangeLifecycle() {
    if (!change_.to) return;
    const bool closes = *change_.to == Lifecycle::kClosed;
    if (before_.lifecycle == Lifecycle::kClosed && !closes) out_.head.cancel_requests.clear();
    out_.head.lifecycle = *change_.to;
    out_.head.close_reason = closes ? change_.close_reason : CloseReason::kNone;
  }

  void FreeLease() {
    LeaseRecord& lease = out_.head.lease;
    lease.held = false;
    lease.secret_hash = Digest{};
    lease.state = LeaseState::kFree;
    lease.expires_in = absl::ZeroDuration();
  }

  void ChangeLease() {
    LeaseRecord& lease = out_.head.lease;
    if (change_.raises_epoch) {  // C113
      lease.epoch = lease.epoch.Next();
      FreeLease();
    }
    if (change_.ends_lease) FreeLease();  // C033, C097, C114
    if (change_.grant) TakeGrant(*change_.grant);
    const bool whole_again = change_.grant || change_.renews_lease;  // C143
    if (whole_again && lease.held) {
      lease.state = LeaseState::kLive;
      lease.expires_in = lease.ttl;
    }
  }

  // C031, C095, C015.
  void TakeGrant(const Grant& grant) {
    Head& head = out_.head;
    out_.receipt.previous_holder = before_.lease.holder;
    out_.receipt.tail_bytes_truncated = std::exchange(head.tail_bytes_truncated, 0);
    head.lease.epoch = head.lease.epoch.Next();
    head.lease.held = true;
    head.lease.secret_hash = Sha256(grant.secret);
    head.lease.holder = grant.holder;
    head.lease.ttl = grant.ttl;
    head.grants.push_back({.epoch = head.lease.epoch, .at = moment_.clock});
    if (head.grants.size() > kGrantsKept) head.grants.erase(head.grants.begin());
    const LeaseToken token{.store = moment_.store,
                           .incarnation = moment_.incarnation,
                           .uid = head.uid,
                           .epoch = head.lease.epoch,
                           .secret = grant.secret};
    out_.receipt.token = token.ToText();
  }

  // C034, C191. C099: the digest is computed over every message of the history.
  void AddMessages() {
    Head& head = out_.head;
    if (change_.restores) out_.begins_with = FirstMessages(*change_.restores);
    if (change_.replaces_history) out_.begins_with.emplace();
    if (out_.begins_with) head.generation = head.generation.Next();
    const std::vector<Message>& there = out_.begins_with ? *out_.begins_with : session_.messages;
    head.messages = there.empty() ? MessageSeq() : there.back().seq;
    for (Message message : change_.messages) {
      head.messages = head.messages.Next();
      message.seq = head.messages;
      out_.messages.push_back(std::move(message));
    }
    if (out_.messages.empty() && !out_.begins_with) return;
    head.history = Digest{};
    for (const std::vector<Message>* const messages : {&there, &std::as_const(out_.messages)}) {
      for (const Message& message : *messages) {
        head.history = ExtendHistory(head.history, message);
      }
    }
    if (!out_.messages.empty()) out_.messages.back().history = head.history;
  }

  [[nodiscard]] std::vector<Message> FirstMessages(const HistoryCut& cut) const {
    std::vector<Message> messages = session_.MessagesOf(cut.generation);
    messages.resize(cut.messages.value());
    return messages;
  }

  // C117.
  void SetStateMachine() {
    if (change_.sm) out_.head.sm = *change_.sm;
  }

  // C041, C106.
  void AddEntries() {
    if (change_.entries.empty()) return;
    Head& head = out_.head;
    const TurnNumber turn = change_.entries.front().turn;
    for (JournalEntry entry : change_.entries) {
      if (entry.number <= LastKnownEntry(before_, turn)) continue;
      entry.journal_number = JournalNumber(session_.entries.size() + out_.entries.size() + 1);
      if (entry.slot) entry.slot->revision = head.revision;
      out_.entries.push_back(std::move(entry));
    }
    head.journal = JournalNumber(session_.entries.size() + out_.entries.size());
    if (!out_.entries.empty()) {
      EntryNumber& last = head.turn ? head.turn->last_entry : head.last_entry_between;
      last = out_.entries.back().number;
    }
    out_.receipt.last_entry = LastKnownEntry(head, turn);
  }

  // Whether the snapshot is of the active turn.
  [[nodiscard]] bool InTurn() const {
    const bool committed = change_.end_turn && change_.end_turn->committed;
    return (committed || change_.keeps_turn) && before_.turn;
  }

  // The store's own slot: what the snapshot holds (C040, C236).
  [[nodiscard]] Slot StoreSlot() const {
    const Head& head = out_.head;
    nlohmann::ordered_json json = {
        {"snapshot", head.revision.value()},
        {"turn", InTurn() ? before_.turn->number.value() : 0},
        {"generation", head.generation.value()},
        {"messages", head.messages.value()},
        {"digest", absl::BytesToHexString(std::string(View(head.history)))},
        {"journal", head.journal.value()},
        {"state_machine", nullptr},
    };
    if (head.sm) {
      json["state_machine"] = {{"extension_id", head.sm->ext_id}, {"slot_ref", head.sm->slot_ref}};
    }
    return {.owner = kStoreSlotOwner,
            .version = "1.1.0",
            .policy = DriftPolicy::kReject,
            .data = json.dump()};
  }

  // C035, C100, C039.
  void WriteSnapshot() {
    for (const Slot& slot : from_turn_) WriteSlot(slot);
    for (const Slot& slot : change_.slots) WriteSlot(slot);
    for (const std::string& owner : change_.deleted_slots) {
      out_.slots.push_back({.owner = owner, .slot = std::nullopt});
    }
    if (!change_.snapshot) return;
    Head& head = out_.head;
    WriteSlot(StoreSlot());
    head.snapshots.push_back({.at = {.revision = head.revision, .journal = head.journal},
                              .generation = head.generation,
                              .messages = head.messages});
    head.snapshot_trace = change_.trace;
    head.snapshot_turn = InTurn() ? before_.turn->number : TurnNumber();
    while (head.snapshots.size() > moment_.snapshots_kept) {  // C237, C238
      head.snapshots.erase(head.snapshots.begin());
    }
  }

  // C037.
  void WriteSlotsBetweenTurns() {
    for (const JournalEntry& entry : out_.entries) {
      if (entry.turn == TurnNumber() && entry.slot) WriteSlot(*entry.slot);
    }
  }

  // C111, C112.
  void BeginTurn() {
    if (!change_.begin_turn) return;
    Head& head = out_.head;
    head.last_turn = head.last_turn.Next();
    head.turn = TurnRecord{.number = head.last_turn,
                           .source = change_.begin_turn->source,
                           .started_at = moment_.wall,
                           .last_entry = EntryNumber(),
                           .applied_entry = EntryNumber(),
                           .journal_before = head.journal,
                           .trace = change_.begin_turn->trace,
                           .parent_span_id = change_.begin_turn->parent_span_id};
    out_.receipt.turn = head.last_turn;
  }

  // An ended turn is known as long as its journal is kept.
  void ForgetEndedTurns() {
    Head& head = out_.head;
    if (head.snapshots.empty()) return;
    std::erase_if(head.ended,
                  [&](const EndedTurn& ended) { return ended.last_journal <= JournalFloor(head); });
    if (head.ended.size() > kEndedTurnsKept) head.ended.erase(head.ended.begin());
  }

  // C046.
  void PatchAttributes() {
    for (const auto& [key, value] : change_.attributes) {
      out_.head.attributes.erase(key);
      if (value) out_.head.attributes.emplace(key, *value);
    }
  }

  // C160, C161.
  void AddCancelRequest() {
    if (!change_.cancel_request) return;
    auto& requests = out_.head.cancel_requests;
    const bool there = std::ranges::any_of(requests, [&](const CancelRequest& request) {
      return request.SameAs(*change_.cancel_request);
    });
    if (there) return;
    requests.push_back(*change_.cancel_request);
    requests.back().at = moment_.wall;
  }

  // The state machine's slot is handed out once in each epoch that a resume begins.
  void HandOutStateMachine() {
    Head& head = out_.head;
    if (change_.grant) head.sm_slot_pending = !change_.create && head.sm.has_value();
    if (!change_.hands_out_sm_slot) return;
    out_.receipt.sm_slot_handed_out = std::exchange(head.sm_slot_pending, false);
  }

  // C325, C326.
  void CountContexts() {
    Head& head = out_.head;
    head.compactions += change_.compacts ? 1 : 0;
    const bool begins = change_.grant || change_.restores || change_.compacts;
    head.context_number += begins ? 1 : 0;
  }

  // C044, C108, C109.
  void AddEvents() {
    EventSeq seq = session_.events.empty() ? EventSeq() : session_.events.back().seq;
    for (const EventDraft& draft : change_.events) {
      seq = seq.Next();
      Event event{.seq = seq,
                  .name = draft.name,
                  .revision = out_.head.revision,
                  .correlation_id = change_.correlation_id,
                  .trace_id = change_.trace.id,
                  .time = moment_.wall,
                  .payload = draft.payload};
      for (const Given given : draft.given) {
        switch (given) {
          case Given::kTurn:
            event.payload["turn"] = absl::StrCat(out_.receipt.turn.value());
            break;
          case Given::kEpoch:
            event.payload["epoch"] = absl::StrCat(out_.head.lease.epoch.value());
            break;
          case Given::kCompactions:
            event.payload["count"] = absl::StrCat(out_.head.compactions);
            break;
        }
      }
      out_.events.push_back(std::move(event));
    }
    out_.head.last_event = seq;
  }

  // C203, C204: by the entries that were added and update a slot of turn 0.
  [[nodiscard]] std::optional<AuditDraft> DraftOfSlotUpdates() const {
    std::vector<JournalEntry> updates;
    std::ranges::copy_if(out_.entries, std::back_inserter(updates), [](const JournalEntry& entry) {
      return entry.turn == TurnNumber() && entry.slot.has_value();
    });
    if (updates.empty()) return std::nullopt;
    AuditDraft draft{.audit_class = kLifecycleClass, .code = "slots", .data = {}};
    for (const JournalEntry& entry : updates) {
      draft.data["slot." + entry.slot->owner] = entry.slot->version;
    }
    draft.data["first_entry"] = absl::StrCat(updates.front().number.value());
    draft.data["last_entry"] = absl::StrCat(updates.back().number.value());
    draft.data["updates"] = absl::StrCat(updates.size());
    return draft;
  }

  // C045, C110.
  void AddAuditRecord() {
    const std::optional<AuditDraft> draft = change_.audit ? change_.audit : DraftOfSlotUpdates();
    if (!draft) return;
    Head& head = out_.head;
    AuditRecord record{.seq = before_.last_audit.Next(),
                       .audit_class = draft->audit_class,
                       .code = draft->code,
                       .correlation_id = change_.correlation_id,
                       .trace_id = change_.trace.id,
                       .revision = head.revision,
                       .epoch = head.lease.epoch,
                       .time = moment_.wall,
                       .data = draft->data,
                       .previous = before_.audit_chain};
    record.hash = AuditHash(record);
    head.last_audit = record.seq;
    head.audit_chain = record.hash;
    out_.receipt.audit = record.seq;
    out_.audit = std::move(record);
  }

  void FillReceipt() {
    const Head& head = out_.head;
    Receipt& receipt = out_.receipt;
    receipt.before = before_.revision;
    receipt.revision = head.revision;
    receipt.epoch = head.lease.epoch;
    receipt.messages = head.messages;
    if (!head.snapshots.empty()) receipt.snapshot = head.snapshots.back().at.revision;
    receipt.drained_turns = change_.drained_turns;
    receipt.removed_messages = change_.removed_messages;
    receipt.removed = change_.removed;
    CountCheckpoints();
  }

  // The list of the server's own checkpoints is what its items say, in the order of their puts.
  void CountCheckpoints() {
    const size_t plain = change_.items.puts.size() + change_.items.deletes.size();
    const ItemWrites writes = ItemsOf(change_, before_, out_);
    if (writes.puts.size() + writes.deletes.size() == plain) return;
    CheckpointSummary& checkpoints = out_.head.checkpoints;
    checkpoints.version = before_.checkpoints.version + 1;
    if (change_.checkpoints) checkpoints.manual = change_.checkpoints->manual;
    for (const ItemDelete& wanted : writes.deletes) {
      const auto* const key = std::get_if<std::string>(&wanted.keys);
      if (key == nullptr) continue;
      const ItemName name{.collection = wanted.collection, .key = *key};
      std::erase_if(checkpoints.own, [&](const OwnCheckpoint& own) {
        return CheckpointItemName(own.kind, own.revision) == name;
      });
    }
    for (const ItemPut& put : writes.puts) {
      const std::optional<Checkpoint> checkpoint = DecodeCheckpoint(put.item);
      if (!checkpoint) continue;
      const OwnCheckpoint own{.kind = checkpoint->kind, .revision = checkpoint->revision()};
      if (own.kind == CheckpointKind::kManual) {
        out_.receipt.snapshot = own.revision;
      } else if (std::ranges::count(checkpoints.own, own) == 0) {
        checkpoints.own.push_back(own);
      }
    }
  }

  const StoredSession& session_;
  const Head& before_;
  const Change& change_;
  const Moment& moment_;
  std::vector<Slot> from_turn_;  // what the turn's entries write to the snapshot
  Effects out_;
};

// C321 to C324: the last snapshot of `before`, unless it is pinned so already.
void PinLast(const Head& before, CheckpointKind kind, ItemWrites& writes) {
  if (before.snapshots.empty()) return;
  Checkpoint checkpoint{.kind = kind, .turn = before.snapshot_turn, .history = before.history};
  checkpoint.snapshot.record = before.snapshots.back();
  std::vector<Revision> there;
  for (const OwnCheckpoint& own : before.checkpoints.own) {
    if (own.kind == kind) there.push_back(own.revision);
  }
  if (std::ranges::count(there, checkpoint.revision()) > 0) return;
  if (there.size() == kOwnCheckpointsKept) {
    const ItemName oldest = CheckpointItemName(kind, std::ranges::min(there));
    writes.deletes.push_back({.collection = oldest.collection, .keys = oldest.key});
  }
  writes.puts.push_back({.item = EncodeCheckpoint(checkpoint)});
}

}  // namespace

Head HeadOfNone(const Moment& moment) {
  Head head;
  head.store = moment.store;
  head.incarnation = moment.incarnation;
  return head;
}

ItemWrites ItemsOf(const Change& change, const Head& before, const Effects& effects) {
  ItemWrites writes = change.items;
  if (change.pins_previous) PinLast(before, *change.pins_previous, writes);
  if (!change.checkpoints) return writes;
  for (const ItemName& name : change.checkpoints->deletes) {
    writes.deletes.push_back({.collection = name.collection, .keys = name.key});
  }
  for (const CheckpointPut& put : change.checkpoints->puts) {
    Checkpoint checkpoint = put.checkpoint;
    if (put.of_this_snapshot) {
      const bool in_turn = change.keeps_turn || (change.end_turn && change.end_turn->committed);
      checkpoint.snapshot.record = effects.head.snapshots.back();
      checkpoint.turn = in_turn && before.turn ? before.turn->number : TurnNumber();
      checkpoint.history = effects.head.history;
    }
    writes.puts.push_back({.item = EncodeCheckpoint(checkpoint)});
    if (!put.takes_name) continue;
    writes.puts.push_back({.item = EncodeCheckpointName(checkpoint.name, checkpoint.revision()),
                           .condition = PutCondition::kIfVersion});
  }
  return writes;
}

Effects EffectsOf(const StoredSession& session, const Head& before, const Change& change,
                  const Moment& moment) {
  return Applying(session, before, change, moment).Finish();
}

}  // namespace holdfast::test
