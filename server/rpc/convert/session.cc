#include "server/rpc/convert/session.h"

#include "server/rpc/convert/fields.h"

#include <string>

namespace holdfast {
namespace {

void WriteManifest(const Head& head, pb::Manifest& out) {
  out.set_mode(ToWire(head.mode));
  out.set_project_root(head.project_root);
  if (head.sm) Write(*head.sm, *out.mutable_state_machine());
}

void WriteLease(const LeaseRecord& lease, pb::Lease& out) {
  out.set_state(ToWire(lease.state));
  out.set_epoch(lease.epoch.value());
  out.set_holder(lease.holder);
  *out.mutable_ttl() = ToWire(lease.ttl);
  if (lease.state == LeaseState::kLive) *out.mutable_expires_in() = ToWire(lease.expires_in);
}

void WriteTurn(const TurnRecord& turn, pb::Turn& out) {
  out.set_number(turn.number.value());
  out.set_source(ToWire(turn.source));
  *out.mutable_start_time() = ToWire(turn.started_at);
  out.set_last_entry(turn.last_entry.value());
}

pb::SessionSummary::Condition ToWire(SessionRow::Condition condition) {
  switch (condition) {
    case SessionRow::Condition::kOk:
      return pb::SessionSummary::CONDITION_OK;
    case SessionRow::Condition::kForeign:
      return pb::SessionSummary::CONDITION_FOREIGN;
    case SessionRow::Condition::kDamaged:
      return pb::SessionSummary::CONDITION_DAMAGED;
  }
  return pb::SessionSummary::CONDITION_UNSPECIFIED;
}

pb::SlotReport::Status ToWire(SlotReport::Status status) {
  switch (status) {
    case SlotReport::Status::kMatch:
      return pb::SlotReport::STATUS_MATCH;
    case SlotReport::Status::kMigrate:
      return pb::SlotReport::STATUS_MIGRATE;
    case SlotReport::Status::kWarn:
      return pb::SlotReport::STATUS_WARN;
    case SlotReport::Status::kReject:
      return pb::SlotReport::STATUS_REJECT;
    case SlotReport::Status::kAbsent:
      return pb::SlotReport::STATUS_ABSENT;
  }
  return pb::SlotReport::STATUS_UNSPECIFIED;
}

}  // namespace

void Write(const SessionId& id, const Head& head, pb::Session& out) {
  out.set_session_id(id.value());
  out.set_session_uid(head.uid.value());
  out.set_store_id(head.store.value());
  out.set_lifecycle(ToWire(head.lifecycle));
  out.set_close_reason(ToWire(head.close_reason));
  out.set_revision(head.revision.value());
  if (!head.snapshots.empty()) {
    out.set_snapshot_revision(head.snapshots.back().at.revision.value());
  }
  WriteManifest(head, *out.mutable_manifest());
  out.set_message_count(head.messages.value());
  out.set_generation(head.generation.value());
  out.set_history_digest(std::string(View(head.history)));
  out.set_kind(ToWire(head.kind));
  out.set_group(head.group);
  out.set_items_version(head.items_version.value());
  out.set_checkpoint_count(static_cast<int64_t>(head.checkpoints.manual));
  out.set_compaction_count(static_cast<int64_t>(head.compactions));
  out.set_context_number(static_cast<int64_t>(head.context_number));
  if (head.turn) WriteTurn(*head.turn, *out.mutable_turn());
  out.set_last_turn(head.last_turn.value());
  out.set_last_turn_trace_id(head.turn ? head.turn->trace.id : head.ended_turn_trace.id);
  out.set_snapshot_trace_id(head.snapshot_trace.id);
  WriteLease(head.lease, *out.mutable_lease());
  out.mutable_attributes()->insert(head.attributes.begin(), head.attributes.end());
  *out.mutable_create_time() = ToWire(head.created_at);
  *out.mutable_update_time() = ToWire(head.updated_at);
  out.set_last_event(head.last_event.value());
  out.set_journal_number(head.journal.value());
  Write(head.cancel_requests, *out.mutable_cancel_requests());
}

void Write(const CancelRequest& cancel_request, pb::CancelRequest& out) {
  out.set_scope(ToWire(cancel_request.scope));
  out.set_reason(ToWire(cancel_request.reason));
  out.set_turn(cancel_request.turn.value());
  out.set_name(cancel_request.name);
  *out.mutable_create_time() = ToWire(cancel_request.at);
}

void Write(const std::vector<CancelRequest>& cancel_requests,
           google::protobuf::RepeatedPtrField<pb::CancelRequest>& out) {
  for (const CancelRequest& cancel_request : cancel_requests) Write(cancel_request, *out.Add());
}

void Write(const SessionRow& row, pb::SessionSummary& out) {
  out.set_session_id(row.id.value());
  out.set_condition(ToWire(row.condition));
  out.set_store_id(row.foreign_store);
  if (row.condition != SessionRow::Condition::kOk) return;  // nothing else of it is known
  out.set_lifecycle(ToWire(row.lifecycle));
  out.set_revision(row.revision.value());
  out.set_project_root(row.project_root);
  out.set_title(row.title);
  out.set_message_count(row.messages.value());
  out.set_cancelling(row.cancelling);
  out.set_kind(ToWire(row.kind));
  out.set_group(row.group);
  *out.mutable_create_time() = ToWire(row.created_at);
  *out.mutable_update_time() = ToWire(row.updated_at);
  out.set_session_uid(row.uid.value());
  out.set_last_event(row.last_event.value());
  out.set_items_version(row.items_version.value());
  out.mutable_attributes()->insert(row.attributes.begin(), row.attributes.end());
  for (const SlotView& view : row.slots) Write(view, *out.add_slots());
}

void Write(const SlotView& view, pb::SlotView& out) {
  Write(view.slot, *out.mutable_slot());
  out.set_size(static_cast<int64_t>(view.size));
  out.set_data_left_out(view.data_left_out);
  out.set_damaged(view.damaged);
}

void Write(const StateMachineRef& sm, pb::StateMachine& out) {
  out.set_extension_id(sm.ext_id);
  out.set_slot_ref(sm.slot_ref);
}

void Write(const Message& message, pb::Message& out) {
  out.set_seq(message.seq.value());
  out.set_role(message.role);
  out.set_content_type(message.content_type);
  out.set_data(message.data.str());
}

void Write(const Slot& slot, pb::Slot& out) {
  out.set_owner(slot.owner);
  out.set_version(slot.version);
  out.set_drift_policy(ToWire(slot.policy));
  out.set_data(slot.data.str());
  out.set_revision(slot.revision.value());
}

void Write(const JournalEntry& entry, pb::JournalEntry& out) {
  out.set_turn(entry.turn.value());
  out.set_number(entry.number.value());
  out.set_kind(ToWire(entry.kind));
  out.set_ref(entry.ref);
  out.set_data(entry.data.str());
  if (entry.slot) Write(*entry.slot, *out.mutable_slot());
  out.set_journal_number(entry.journal_number.value());
}

void Write(const Event& event, pb::Event& out) {
  out.set_seq(event.seq.value());
  out.set_name(event.name);
  out.set_revision(event.revision.value());
  out.set_correlation_id(event.correlation_id);
  out.set_trace_id(event.trace_id);
  *out.mutable_create_time() = ToWire(event.time);
  out.mutable_payload()->insert(event.payload.begin(), event.payload.end());
}

void Write(const AuditRecord& record, pb::AuditRecord& out) {
  out.set_seq(record.seq.value());
  out.set_audit_class(record.audit_class);
  out.set_code(record.code);
  out.set_correlation_id(record.correlation_id);
  out.set_revision(record.revision.value());
  out.set_epoch(record.epoch.value());
  *out.mutable_create_time() = ToWire(record.time);
  out.mutable_data()->insert(record.data.begin(), record.data.end());
  out.set_previous_hash(std::string(View(record.previous)));
  out.set_hash(std::string(View(record.hash)));
  out.set_trace_id(record.trace_id);
  out.set_version(static_cast<uint32_t>(record.version));
}

void Write(const SlotReport& report, pb::SlotReport& out) {
  out.set_owner(report.owner);
  out.set_status(ToWire(report.status));
  out.set_stored_version(report.stored_version);
  out.set_expected_version(report.expected_version);
}

void Write(const RecoveryReport& report, pb::RecoveryReport& out) {
  out.set_restored_revision(report.restored.value());
  out.set_snapshot_revision(report.snapshot.value());
  out.set_entries_after_snapshot(report.entries_after_snapshot);
  out.set_tail_bytes_truncated(report.tail_bytes_truncated);
  out.set_abandoned_turn(report.abandoned_turn.value());
  for (const std::string& use : report.open_tool_uses) out.add_open_tool_uses(use);
  out.set_previous_holder(report.previous_holder);
  if (report.last_committed_request) {
    out.set_last_committed_request_id(report.last_committed_request->value());
  }
  for (const SlotReport& slot : report.slots) Write(slot, *out.add_slots());
  for (const std::string& owner : report.damaged_slots) out.add_damaged_slots(owner);
  out.set_open_tool_uses_truncated(report.open_tool_uses_truncated);
}

}  // namespace holdfast
