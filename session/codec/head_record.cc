// The head's record: the one that grows when the model does.
#include "session/bounds.h"
#include "session/codec/records.h"
#include "session/limits.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace holdfast {
namespace {

constexpr uint64_t kHeadVersion = 8;

// The length of a list that never has more than `most`. Attributes have no such bound here: a
// session from before there was one is still read.
size_t ReadCount(Decoder& in, size_t most) {
  const size_t count = in.Count();
  if (count <= most) return count;
  in.Fail();
  return 0;
}

void PutLease(const Head& head, Encoder& out) {
  const LeaseRecord& lease = head.lease;
  out.Number(lease.epoch.value()).Number(lease.held ? 1 : 0).Raw(View(lease.secret_hash));
  out.Text(lease.holder).Number(static_cast<uint64_t>(absl::ToInt64Milliseconds(lease.ttl)));
  out.Number(head.grants.size());
  for (const GrantRecord& grant : head.grants) out.Number(grant.epoch.value()).Time(grant.at);
}

void ReadLease(Decoder& in, Head& head) {
  LeaseRecord& lease = head.lease;
  lease.epoch = Epoch(in.Number());
  lease.held = in.Number() == 1;
  lease.secret_hash = DigestFrom(in.Raw(kDigestBytes));
  lease.holder = in.Text();
  lease.ttl = absl::Milliseconds(in.Number());
  for (size_t left = ReadCount(in, kGrantsKept); left > 0; --left) {
    const Epoch epoch(in.Number());
    head.grants.push_back({.epoch = epoch, .at = in.Time()});
  }
}

void PutTurns(const Head& head, Encoder& out) {
  out.Number(head.turn ? 1 : 0);
  if (head.turn) {
    out.Number(head.turn->number.value()).Number(static_cast<uint64_t>(head.turn->source));
    out.Time(head.turn->started_at).Number(head.turn->last_entry.value());
    out.Text(head.turn->trace.id).Text(head.turn->parent_span_id);
  }
  out.Number(head.last_turn.value()).Number(head.committed_turns);
  out.Text(head.last_committed_request ? head.last_committed_request->value() : "");
  out.Number(head.last_entry_between.value()).Number(head.ended.size());
  for (const EndedTurn& ended : head.ended) {
    out.Number(ended.turn.value())
        .Number(ended.last_entry.value())
        .Number(ended.last_journal.value());
  }
}

void ReadTurns(Decoder& in, Head& head) {
  if (in.Number() == 1) {
    TurnRecord turn;
    turn.number = TurnNumber(in.Number());
    turn.source = static_cast<TurnSource>(in.Number());
    turn.started_at = in.Time();
    turn.last_entry = EntryNumber(in.Number());
    turn.trace.id = in.Text();
    turn.parent_span_id = in.Text();
    head.turn = std::move(turn);
  }
  head.last_turn = TurnNumber(in.Number());
  head.committed_turns = in.Number();
  const std::string_view request = in.Text();
  if (!request.empty()) {
    head.last_committed_request = RequestId::Parse(request);
    if (!head.last_committed_request) in.Fail();
  }
  head.last_entry_between = EntryNumber(in.Number());
  for (size_t left = ReadCount(in, kEndedTurnsKept); left > 0; --left) {
    EndedTurn ended;
    ended.turn = TurnNumber(in.Number());
    ended.last_entry = EntryNumber(in.Number());
    ended.last_journal = JournalNumber(in.Number());
    head.ended.push_back(ended);
  }
}

void PutManifest(const Head& head, Encoder& out) {
  out.Number(static_cast<uint64_t>(head.mode)).Text(head.project_root).Number(head.sm ? 1 : 0);
  if (head.sm) out.Text(head.sm->ext_id).Text(head.sm->slot_ref);
  out.Time(head.created_at).Time(head.updated_at).Number(head.generation.value());
  out.Number(head.messages.value()).Raw(View(head.history));
}

void ReadManifest(Decoder& in, Head& head) {
  head.mode = static_cast<Mode>(in.Number());
  head.project_root = in.Text();
  if (in.Number() == 1) {
    StateMachineRef sm;
    sm.ext_id = in.Text();
    sm.slot_ref = in.Text();
    head.sm = std::move(sm);
  }
  head.created_at = in.Time();
  head.updated_at = in.Time();
  head.generation = Generation(in.Number());
  head.messages = MessageSeq(in.Number());
  head.history = DigestFrom(in.Raw(kDigestBytes));
}

void PutCounters(const Head& head, Encoder& out) {
  out.Number(head.snapshots.size());
  for (const SnapshotRecord& snapshot : head.snapshots) {
    out.Number(snapshot.at.revision.value()).Number(snapshot.at.journal.value());
    out.Number(snapshot.generation.value()).Number(snapshot.messages.value());
  }
  out.Number(head.sm_slot_pending ? 1 : 0).Number(head.journal.value());
  out.Number(head.last_event.value()).Number(head.last_audit.value()).Raw(View(head.audit_chain));
  out.Number(head.attributes.size());
  for (const auto& [key, value] : head.attributes) out.Text(key).Text(value);
}

void ReadCounters(Decoder& in, Head& head) {
  for (size_t left = ReadCount(in, kSnapshotsKeptMost); left > 0; --left) {
    SnapshotRecord snapshot;
    snapshot.at.revision = Revision(in.Number());
    snapshot.at.journal = JournalNumber(in.Number());
    snapshot.generation = Generation(in.Number());
    snapshot.messages = MessageSeq(in.Number());
    head.snapshots.push_back(snapshot);
  }
  if (head.snapshots.empty()) in.Fail();
  head.sm_slot_pending = in.Number() == 1;
  head.journal = JournalNumber(in.Number());
  head.last_event = EventSeq(in.Number());
  head.last_audit = AuditSeq(in.Number());
  head.audit_chain = DigestFrom(in.Raw(kDigestBytes));
  for (size_t left = in.Count(); left > 0; --left) {
    std::string key(in.Text());
    head.attributes.insert_or_assign(std::move(key), std::string(in.Text()));
  }
}

// What snapshots inside the turn hold, and cancel requests.
void PutTurnAndCancelRequests(const Head& head, Encoder& out) {
  if (head.turn) {
    out.Number(head.turn->applied_entry.value()).Number(head.turn->journal_before.value());
  }
  out.Number(head.cancel_requests.size());
  for (const CancelRequest& cancel_request : head.cancel_requests) {
    out.Number(static_cast<uint64_t>(cancel_request.scope))
        .Number(static_cast<uint64_t>(cancel_request.reason));
    out.Number(cancel_request.turn.value()).Text(cancel_request.name).Time(cancel_request.at);
  }
}

void ReadTurnAndMarks(Decoder& in, Head& head) {
  if (head.turn) {
    head.turn->applied_entry = EntryNumber(in.Number());
    head.turn->journal_before = JournalNumber(in.Number());
  }
  for (size_t left = ReadCount(in, kCancelRequestsPerSession); left > 0; --left) {
    CancelRequest cancel_request;
    const uint64_t scope = in.Number();
    const uint64_t reason = in.Number();
    if (scope < 1 || scope > static_cast<uint64_t>(CancelScope::kTool)) in.Fail();
    if (reason < 1 || reason > static_cast<uint64_t>(CancelReason::kCap)) in.Fail();
    cancel_request.scope = static_cast<CancelScope>(scope);
    cancel_request.reason = static_cast<CancelReason>(reason);
    cancel_request.turn = TurnNumber(in.Number());
    cancel_request.name = in.Text();
    cancel_request.at = in.Time();
    head.cancel_requests.push_back(std::move(cancel_request));
  }
}

// Where the last turn and the last snapshot were recorded.
void PutTraces(const Head& head, Encoder& out) {
  if (head.turn) out.Number(head.turn->trace.sampled ? 1 : 0);
  for (const TraceRef* trace : {&head.ended_turn_trace, &head.snapshot_trace}) {
    out.Text(trace->id).Number(trace->sampled ? 1 : 0);
  }
}

void ReadTraces(Decoder& in, Head& head) {
  if (head.turn) head.turn->trace.sampled = in.Number() == 1;
  for (TraceRef* trace : {&head.ended_turn_trace, &head.snapshot_trace}) {
    trace->id = in.Text();
    trace->sampled = in.Number() == 1;
  }
}

// Histories that begin with messages of others.
void PutShared(const Head& head, Encoder& out) {
  out.Number(head.shared.size());
  for (const SharedHistory& shared : head.shared) {
    out.Number(shared.generation.value()).Number(shared.spans.size());
    for (const HistorySpan& span : shared.spans) {
      out.Number(span.generation.value()).Number(span.last.value());
    }
  }
}

void ReadShared(Decoder& in, Head& head) {
  for (size_t left = ReadCount(in, kSnapshotsKeptMost + 1); left > 0; --left) {
    SharedHistory& shared = head.shared.emplace_back();
    shared.generation = Generation(in.Number());
    for (size_t spans = ReadCount(in, kHistorySpans); spans > 0; --spans) {
      const Generation generation(in.Number());
      shared.spans.push_back({.generation = generation, .last = MessageSeq(in.Number())});
    }
    if (shared.spans.empty()) in.Fail();
  }
}

void PutCheckpoints(const Head& head, Encoder& out) {
  const CheckpointSummary& checkpoints = head.checkpoints;
  out.Number(checkpoints.version).Number(checkpoints.manual).Number(checkpoints.own.size());
  for (const OwnCheckpoint& own : checkpoints.own) {
    out.Number(static_cast<uint64_t>(own.kind)).Number(own.revision.value());
  }
}

void ReadCheckpoints(Decoder& in, Head& head) {
  head.checkpoints.version = in.Number();
  head.checkpoints.manual = in.Number();
  for (size_t left = ReadCount(in, kCheckpointKinds * kOwnCheckpointsKept); left > 0; --left) {
    const uint64_t kind = in.Number();
    if (kind < 1 || kind > kCheckpointKinds) in.Fail();
    const Revision revision(in.Number());
    head.checkpoints.own.push_back(
        {.kind = static_cast<CheckpointKind>(kind), .revision = revision});
  }
}

}  // namespace

std::string EncodeHead(const Head& head) {
  Encoder out;
  out.Number(kHeadVersion).Text(head.store.value()).Text(head.uid.value());
  out.Number(static_cast<uint64_t>(head.lifecycle));
  out.Number(static_cast<uint64_t>(head.close_reason)).Number(head.revision.value());
  PutLease(head, out);
  PutTurns(head, out);
  PutManifest(head, out);
  PutCounters(head, out);
  PutTurnAndCancelRequests(head, out);
  PutTraces(head, out);
  out.Number(static_cast<uint64_t>(head.kind)).Text(head.group);
  out.Number(head.items_version.value());
  PutShared(head, out);
  out.Number(head.recreated ? 1 : 0);
  PutCheckpoints(head, out);
  out.Number(head.snapshot_turn.value()).Number(head.compactions).Number(head.context_number);
  return out.Take();
}

std::optional<Head> DecodeHead(std::string_view bytes) {
  Decoder in(bytes);
  if (in.Number() != kHeadVersion) in.Fail();
  Head head;
  head.store = ReadId<StoreId>(in);
  head.uid = ReadId<SessionUid>(in);
  const uint64_t lifecycle = in.Number();
  if (lifecycle >= kLifecycles) in.Fail();
  head.lifecycle = static_cast<Lifecycle>(lifecycle);
  head.close_reason = static_cast<CloseReason>(in.Number());
  head.revision = Revision(in.Number());
  ReadLease(in, head);
  ReadTurns(in, head);
  ReadManifest(in, head);
  ReadCounters(in, head);
  ReadTurnAndMarks(in, head);
  ReadTraces(in, head);
  const uint64_t kind = in.Number();
  if (kind < 1 || kind > static_cast<uint64_t>(SessionKind::kOpen)) in.Fail();
  head.kind = static_cast<SessionKind>(kind);
  head.group = in.Text();
  head.items_version = ItemVersion(in.Number());
  ReadShared(in, head);
  const uint64_t recreated = in.Number();
  if (recreated > 1) in.Fail();
  head.recreated = recreated == 1;
  ReadCheckpoints(in, head);
  head.snapshot_turn = TurnNumber(in.Number());
  head.compactions = in.Number();
  head.context_number = in.Number();
  if (!in.Done()) return std::nullopt;
  return head;
}

}  // namespace holdfast
