#include "session/apply.h"

#include "platform/big_endian.h"
#include "platform/digest.h"
#include "session/audit.h"
#include "session/cancel_requests.h"
#include "session/guard.h"
#include "session/history_spans.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/snapshot_description.h"
#include "session/token.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace holdfast {
namespace {

// Of slot updates between turns, those that an audit record names one by one.
constexpr uint64_t kAuditedSlots = 32;

// Whether the oldest of `kept` goes before another one is added.
template <typename Kept>
bool IsFull(const Kept& kept, size_t most) {
  return kept.size() >= most;
}

void ApplyCreation(const Creation& creation, absl::Time now, Head& head) {
  head.uid = creation.uid;
  head.mode = creation.mode;
  head.project_root = creation.project_root;
  head.kind = creation.kind;
  head.group = creation.group;
  head.created_at = now;
  head.recreated = creation.replaces.has_value();
  head.generation = head.generation.Next();
}

void ApplyGrant(const Grant& grant, const StoreFacts& facts, Applied& out) {
  Head& head = out.head;
  out.receipt.previous_holder = head.lease.holder;
  out.receipt.tail_bytes_truncated = std::exchange(head.tail_bytes_truncated, 0);
  head.lease.epoch = head.lease.epoch.Next();
  head.lease.held = true;
  head.lease.secret_hash = Sha256(grant.secret);
  head.lease.holder = grant.holder;
  head.lease.ttl = grant.ttl;
  head.lease.state = LeaseState::kLive;
  head.lease.expires_in = grant.ttl;
  std::erase_if(head.grants,
                [&](const GrantRecord& old) { return old.at < facts.clock - kRequestsKept; });
  if (IsFull(head.grants, kGrantsKept)) head.grants.erase(head.grants.begin());
  head.grants.push_back({.epoch = head.lease.epoch, .at = facts.clock});
  out.receipt.token = LeaseToken{.store = head.store,
                                 .incarnation = head.incarnation,
                                 .uid = head.uid,
                                 .epoch = head.lease.epoch,
                                 .secret = grant.secret}
                          .ToText();
}

void EndLease(Head& head) {
  head.lease.held = false;
  head.lease.secret_hash = Digest{};
  head.lease.state = LeaseState::kFree;
  head.lease.expires_in = absl::ZeroDuration();
}

void ApplyLease(const Change& change, const StoreFacts& facts, Applied& out) {
  LeaseRecord& lease = out.head.lease;
  if (change.grant) ApplyGrant(*change.grant, facts, out);
  if (change.raises_epoch) lease.epoch = lease.epoch.Next();
  if (change.ends_lease || change.raises_epoch) EndLease(out.head);
  if (change.renews_lease && lease.held) {
    lease.state = LeaseState::kLive;
    lease.expires_in = lease.ttl;
  }
}

void ApplyEndTurn(const Change& change, Applied& out) {
  Head& head = out.head;
  const TurnRecord ended = *std::exchange(head.turn, std::nullopt);
  head.ended_turn_trace = ended.trace;
  std::erase_if(head.cancel_requests, [&](const CancelRequest& cancel_request) {
    return cancel_request.turn == ended.number;
  });
  if (ended.last_entry > EntryNumber()) {
    if (IsFull(head.ended, kEndedTurnsKept)) head.ended.erase(head.ended.begin());
    head.ended.push_back(
        {.turn = ended.number, .last_entry = ended.last_entry, .last_journal = head.journal});
  }
  if (change.end_turn->committed) {
    out.applied_turn = ended.number;
    out.applied_after = ended.applied_entry;
    out.receipt.last_entry = ended.last_entry;
    ++head.committed_turns;
    if (change.request) head.last_committed_request = change.request->id;
  } else {
    out.dropped = ended.number;
    out.receipt.abandoned_turn = ended.number;
    out.receipt.entries_dropped = ended.last_entry.value() - ended.applied_entry.value();
  }
}

// A snapshot inside the turn: the entries that it applies are not applied again, also when the turn
// is abandoned.
void ApplyKeepTurn(const Change& change, Applied& out) {
  TurnRecord& turn = *out.head.turn;
  out.applied_turn = turn.number;
  out.applied_after = std::exchange(turn.applied_entry, turn.last_entry);
  out.receipt.last_entry = turn.last_entry;
  if (change.request) out.head.last_committed_request = change.request->id;
}

// The store's own slot: what the snapshot holds.
Slot StoreSlot(const Head& head, TurnNumber turn) {
  return {.owner = kStoreSlotOwner,
          .version = kSnapshotDescriptionVersion,
          .policy = DriftPolicy::kReject,
          .data = EncodeSnapshotDescription(DescribeSnapshot(head, turn)),
          .revision = head.revision};
}

void ApplyContents(const Change& change, Applied& out) {
  Head& head = out.head;
  if (change.restores) RestoreHistory(*change.restores, head);
  if (change.replaces_history) {
    head.generation = head.generation.Next();
    head.messages = MessageSeq();
    head.history = Digest{};
  }
  for (Message message : change.messages) {
    head.messages = head.messages.Next();
    message.seq = head.messages;
    head.history = ExtendHistory(head.history, message);
    out.messages.push_back(std::move(message));
  }
  // By it the digest of any first part of the history is found in the messages of one change.
  if (!out.messages.empty()) out.messages.back().history = head.history;
  out.upload = change.upload;
  if (change.sm) head.sm = *change.sm;
  if (change.snapshot) {
    out.slots.push_back(StoreSlot(head, out.applied_turn.value_or(TurnNumber())));
  }
  for (Slot slot : change.slots) {
    slot.revision = head.revision;
    out.slots.push_back(std::move(slot));
  }
  out.deleted_slots = change.deleted_slots;
}

void ApplySnapshot(const TraceRef& trace, TurnNumber in_turn, size_t kept, Head& head) {
  // More than one goes where fewer are kept than before.
  while (IsFull(head.snapshots, kept)) head.snapshots.erase(head.snapshots.begin());
  head.snapshots.push_back({.at = {.revision = head.revision, .journal = head.journal},
                            .generation = head.generation,
                            .messages = head.messages});
  DropUnnamedHistories(head);
  head.snapshot_trace = trace;
  head.snapshot_turn = in_turn;
  const JournalNumber floor = JournalFloor(head);
  std::erase_if(head.ended, [&](const EndedTurn& turn) { return turn.last_journal <= floor; });
}

void ApplyBeginTurn(const BeginTurn& begin, absl::Time now, Applied& out) {
  Head& head = out.head;
  head.last_turn = head.last_turn.Next();
  head.turn = TurnRecord{.number = head.last_turn,
                         .source = begin.source,
                         .started_at = now,
                         .last_entry = EntryNumber(),
                         .applied_entry = EntryNumber(),
                         .journal_before = head.journal,
                         .trace = begin.trace,
                         .parent_span_id = begin.parent_span_id};
  out.receipt.turn = head.last_turn;
}

void ApplyEntries(const Change& change, Applied& out) {
  if (change.entries.empty()) return;
  Head& head = out.head;
  const TurnNumber turn = change.entries.front().turn;
  EntryNumber last = LastEntryOf(head, turn).value_or(EntryNumber());
  for (const JournalEntry& entry : change.entries) {
    if (entry.number <= last) continue;  // there already
    last = entry.number;
    head.journal = head.journal.Next();
    JournalEntry numbered = entry;
    numbered.journal_number = head.journal;
    if (numbered.slot) numbered.slot->revision = head.revision;
    out.entries.push_back(std::move(numbered));
  }
  out.receipt.last_entry = last;
  if (out.entries.empty()) return;
  (turn == TurnNumber() ? head.last_entry_between : head.turn->last_entry) = last;
}

void ApplyAttributes(const AttributePatch& patch, Head& head) {
  for (const auto& [key, value] : patch) {
    if (value) {
      head.attributes.insert_or_assign(key, *value);
    } else {
      head.attributes.erase(key);
    }
  }
}

void ApplyContext(const Change& change, Head& head) {
  if (change.compacts) ++head.compactions;
  if (change.compacts || change.restores || change.grant) ++head.context_number;
}

// The version that a put gets, as a key: in the order of versions.
std::string AppendedKey(ItemVersion version) {
  std::string key;
  AppendBigEndian(version.value(), key);
  return key;
}

// The checkpoint of a kept snapshot, with all that the head knows of it: the newest one.
void PinNewest(const Head& head, Checkpoint& checkpoint) {
  checkpoint.snapshot = PinnedOf(head, head.snapshots.back());
  checkpoint.turn = head.snapshot_turn;
  checkpoint.history = head.history;
}

void DeleteCheckpointItem(const ItemName& name, Applied& out) {
  out.items.deletes.push_back({.collection = name.collection, .keys = name.key});
  const auto kind = CheckpointKindOf(name);
  if (!kind || *kind == CheckpointKind::kManual) return;
  std::erase(out.head.checkpoints.own,
             OwnCheckpoint{.kind = *kind, .revision = CheckpointRevisionOf(name)});
}

// Notes a checkpoint of a kind of the server's own. The oldest of its kind goes where as many as
// are kept are there.
void NoteOwn(const OwnCheckpoint& added, Applied& out) {
  std::vector<OwnCheckpoint>& own = out.head.checkpoints.own;
  if (std::ranges::find(own, added) != own.end()) return;
  const auto there =
      static_cast<uint64_t>(std::ranges::count(own, added.kind, &OwnCheckpoint::kind));
  if (there >= kOwnCheckpointsKept) {
    const OwnCheckpoint oldest = *std::ranges::find(own, added.kind, &OwnCheckpoint::kind);
    DeleteCheckpointItem(CheckpointItemName(oldest.kind, oldest.revision), out);
  }
  own.push_back(added);
}

void PutCheckpointItem(const Checkpoint& checkpoint, Applied& out) {
  out.items.puts.push_back({.item = EncodeCheckpoint(checkpoint)});
  if (checkpoint.kind == CheckpointKind::kManual) {
    out.receipt.snapshot = checkpoint.revision();
  } else {
    NoteOwn({.kind = checkpoint.kind, .revision = checkpoint.revision()}, out);
  }
}

// Adds the items that checkpoints consist of to those of the change.
void AddCheckpoints(const CheckpointWrites& checkpoints, Applied& out) {
  for (const ItemName& name : checkpoints.deletes) DeleteCheckpointItem(name, out);
  for (const CheckpointPut& put : checkpoints.puts) {
    Checkpoint checkpoint = put.checkpoint;
    if (put.of_this_snapshot) PinNewest(out.head, checkpoint);
    PutCheckpointItem(checkpoint, out);
    if (!put.takes_name) continue;
    out.items.puts.push_back({.item = EncodeCheckpointName(checkpoint.name, checkpoint.revision()),
                              .condition = PutCondition::kIfVersion});
  }
  out.head.checkpoints.manual = checkpoints.manual;
}

// Pins the last snapshot before the change, unless it is pinned so already.
void PinPrevious(const Head& before, CheckpointKind kind, Applied& out) {
  if (before.snapshots.empty()) return;
  Checkpoint checkpoint{.kind = kind};
  PinNewest(before, checkpoint);
  const OwnCheckpoint wanted{.kind = kind, .revision = checkpoint.revision()};
  const std::vector<OwnCheckpoint>& own = before.checkpoints.own;
  if (std::ranges::find(own, wanted) == own.end()) PutCheckpointItem(checkpoint, out);
}

void ApplyCheckpoints(const Head& before, const Change& change, Applied& out) {
  if (change.pins_previous) PinPrevious(before, *change.pins_previous, out);
  if (change.checkpoints) AddCheckpoints(*change.checkpoints, out);
  const bool changed = out.items.puts.size() + out.items.deletes.size() >
                       change.items.puts.size() + change.items.deletes.size();
  if (changed) ++out.head.checkpoints.version;
}

void ApplyItems(const Head& before, const Change& change, absl::Time now, Applied& out) {
  Head& head = out.head;
  out.items = change.items;
  ApplyCheckpoints(before, change, out);
  const ItemWrites& writes = out.items;
  if (writes.empty()) return;
  if (!writes.deletes.empty()) head.items_version = head.items_version.Next();
  for (ItemPut& put : out.items.puts) {
    head.items_version = head.items_version.Next();
    Item& item = put.item;
    item.version = head.items_version;
    if (item.name.key.empty()) item.name.key = AppendedKey(item.version);
    item.created_at = now;
    item.updated_at = now;
  }
  if (!change.items.empty()) out.receipt.items_version = head.items_version;
}

// A cancel request of the session stays with the closed session as the reason of its end. Reopening
// the session removes it.
void ApplyCancelRequests(const Head& before, const Change& change, absl::Time now, Head& head) {
  const bool reopened =
      before.lifecycle == Lifecycle::kClosed && head.lifecycle != Lifecycle::kClosed;
  if (reopened) head.cancel_requests.clear();
  if (!change.cancel_request || HasCancelRequest(head, *change.cancel_request)) return;
  head.cancel_requests.push_back(*change.cancel_request);
  head.cancel_requests.back().at = now;
}

void ApplyEvents(const Change& change, absl::Time now, Applied& out) {
  Head& head = out.head;
  for (const EventDraft& draft : change.events) {
    head.last_event = head.last_event.Next();
    Event event{.seq = head.last_event,
                .name = draft.name,
                .revision = head.revision,
                .correlation_id = change.correlation_id,
                .trace_id = change.trace.id,
                .time = now,
                .payload = draft.payload};
    for (const Given given : draft.given) {
      if (given == Given::kTurn) event.payload["turn"] = std::to_string(head.last_turn.value());
      if (given == Given::kEpoch) event.payload["epoch"] = std::to_string(head.lease.epoch.value());
      if (given == Given::kCompactions) event.payload["count"] = std::to_string(head.compactions);
    }
    out.events.push_back(std::move(event));
  }
}

// What the slot updates of turn 0 among the new entries did; nothing when there are none. The
// journal keeps them by number; the record also names the versions of the first ones.
std::optional<AuditDraft> UpdatesBetweenTurns(const Applied& out) {
  AuditDraft draft{.audit_class = kLifecycleClass, .code = "slots", .data = {}};
  uint64_t updates = 0;
  for (const JournalEntry& entry : out.entries) {
    if (!UpdatesSlotAtOnce(entry)) continue;
    const std::string number = std::to_string(entry.number.value());
    if (updates++ == 0) draft.data["first_entry"] = number;
    draft.data["last_entry"] = number;
    if (updates <= kAuditedSlots) draft.data["slot." + entry.slot->owner] = entry.slot->version;
  }
  if (updates == 0) return std::nullopt;
  draft.data["updates"] = std::to_string(updates);
  return draft;
}

void ApplyAudit(const Change& change, absl::Time now, Applied& out) {
  const std::optional<AuditDraft> draft = change.audit ? change.audit : UpdatesBetweenTurns(out);
  if (!draft) return;
  Head& head = out.head;
  head.last_audit = head.last_audit.Next();
  AuditRecord record{.seq = head.last_audit,
                     .audit_class = draft->audit_class,
                     .code = draft->code,
                     .correlation_id = change.correlation_id,
                     .trace_id = change.trace.id,
                     .revision = head.revision,
                     .epoch = head.lease.epoch,
                     .time = now,
                     .data = draft->data,
                     .previous = head.audit_chain,
                     .hash = {}};
  record.hash = AuditHash(record);
  head.audit_chain = record.hash;
  out.audit = std::move(record);
}

}  // namespace

Head EmptyHead(const StoreFacts& facts, const FormerSession* former) {
  Head head;
  if (former != nullptr) head.generation = former->generation;
  head.store = facts.store;
  head.incarnation = facts.incarnation;
  return head;
}

Applied Apply(const Head& before, const Change& change, const StoreFacts& facts) {
  Applied out;
  out.head = before;
  out.request = change.request;
  out.at = facts.now;
  Head& head = out.head;
  out.receipt.before = before.revision;
  if (change.moves_revision) {
    head.revision = head.revision.Next();
    head.updated_at = facts.now;
  }
  if (change.create) ApplyCreation(*change.create, facts.now, head);
  ApplyLease(change, facts, out);
  if (change.grant && !change.create) head.sm_slot_pending = head.sm.has_value();
  if (change.end_turn) ApplyEndTurn(change, out);
  if (change.keeps_turn) ApplyKeepTurn(change, out);
  if (change.to) head.lifecycle = *change.to;
  if (change.to || change.close_reason != CloseReason::kNone) {
    head.close_reason = change.close_reason;
  }
  ApplyContents(change, out);
  if (change.snapshot) {
    ApplySnapshot(change.trace, out.applied_turn.value_or(TurnNumber()), facts.snapshots_kept,
                  head);
  }
  if (change.begin_turn) ApplyBeginTurn(*change.begin_turn, facts.now, out);
  if (change.hands_out_sm_slot) {
    out.receipt.sm_slot_handed_out = true;
    head.sm_slot_pending = false;
  }
  ApplyEntries(change, out);
  ApplyAttributes(change.attributes, head);
  ApplyContext(change, head);
  if (!head.snapshots.empty()) out.receipt.snapshot = head.snapshots.back().at.revision;
  ApplyItems(before, change, facts.now, out);
  ApplyCancelRequests(before, change, facts.now, head);
  ApplyEvents(change, facts.now, out);
  ApplyAudit(change, facts.now, out);
  out.tombstone = change.tombstone;
  out.receipt.revision = head.revision;
  out.receipt.epoch = head.lease.epoch;
  out.receipt.messages = head.messages;
  out.receipt.drained_turns = change.drained_turns;
  out.receipt.removed_messages = change.removed_messages;
  out.receipt.removed = change.removed;
  if (out.audit) out.receipt.audit = head.last_audit;
  out.receipt.created = change.create.has_value();
  return out;
}

}  // namespace holdfast
