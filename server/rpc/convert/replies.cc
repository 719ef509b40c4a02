#include "server/rpc/convert/replies.h"

#include "server/rpc/convert/checkpoints.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/session.h"

namespace holdfast {
namespace {

// Revision and the mark of a repeat, which every reply has that shows no session.
template <typename Reply>
void WriteCommon(const MutationResult& result, Reply& out) {
  out.set_revision(result.receipt.revision.value());
  out.set_repeated(result.repeated);
}

// The history that the change left, and by what the next write builds on it, unless it has moved
// on.
template <typename Reply>
void WriteHistory(const MutationResult& result, Reply& out) {
  out.set_message_count(result.receipt.messages.value());
  if (result.head.revision != result.receipt.revision) return;
  out.set_history_digest(std::string(View(result.head.history)));
  out.set_generation(result.head.generation.value());
}

// The session as it is now, and the mark of a repeat.
template <typename Reply>
void WriteSession(const MutationResult& result, Reply& out) {
  Write(result.session, result.head, *out.mutable_session());
  out.set_repeated(result.repeated);
}

pb::GetRequestOutcomeResponse::Outcome OutcomeToWire(RequestOutcome::Kind kind) {
  switch (kind) {
    case RequestOutcome::Kind::kCommitted:
      return pb::GetRequestOutcomeResponse::OUTCOME_COMMITTED;
    case RequestOutcome::Kind::kNever:
      return pb::GetRequestOutcomeResponse::OUTCOME_NEVER;
    case RequestOutcome::Kind::kNotKnown:
      return pb::GetRequestOutcomeResponse::OUTCOME_NOT_KNOWN;
  }
  return pb::GetRequestOutcomeResponse::OUTCOME_UNSPECIFIED;
}

// The stored reply under its method. A grant's token is left out.
void WriteStored(Method method, MutationResult result, pb::GetRequestOutcomeResponse& out) {
  result.receipt.token.clear();
  switch (method) {
    case Method::kCreate:
      return WriteReply(result, *out.mutable_create_session());
    case Method::kUpdate:
      return WriteReply(result, *out.mutable_update_session());
    case Method::kResume: {
      ResumeResult resumed{.result = std::move(result)};
      resumed.report.restored = resumed.result.receipt.before;
      resumed.report.snapshot = resumed.result.receipt.snapshot;
      resumed.report.entries_after_snapshot = resumed.result.receipt.entries_dropped;
      resumed.report.abandoned_turn = resumed.result.receipt.abandoned_turn;
      resumed.report.previous_holder = resumed.result.receipt.previous_holder;
      resumed.inline_omitted = true;
      return WriteReply(resumed, *out.mutable_resume_session());
    }
    case Method::kBeginTurn: {
      const bool omitted = result.receipt.sm_slot_handed_out;
      return WriteReply(BeginTurnResult{.result = std::move(result), .inline_omitted = omitted},
                        *out.mutable_begin_turn());
    }
    case Method::kCommitTurn:
      return WriteReply(result, *out.mutable_commit_turn());
    case Method::kAbandonTurn:
      return WriteReply(result, *out.mutable_abandon_turn());
    case Method::kClose:
      return WriteReply(result, *out.mutable_close_session());
    case Method::kAppendAudit:
      return WriteReply(result, *out.mutable_append_audit());
    case Method::kPutItems:
      return WriteReply(result, *out.mutable_put_items());
    case Method::kCancel:
      return WriteReply(result, *out.mutable_cancel_session());
    case Method::kRelease:
      return WriteReply(result, *out.mutable_release_lease());
    case Method::kDelete:
      return WriteReply(result, *out.mutable_delete_session());
    case Method::kWrite:
      return WriteReply(result, *out.mutable_write_snapshot());
    case Method::kRestore: {
      std::vector<Message> removed = result.receipt.removed;
      return WriteReply(RestoreResult{.result = std::move(result), .removed = std::move(removed)},
                        *out.mutable_restore_session());
    }
    case Method::kPutCheckpoint: {
      CheckpointResult put{.result = std::move(result)};
      put.checkpoint.snapshot.record.at.revision = put.result.receipt.snapshot;
      return WriteReply(put, *out.mutable_put_checkpoint());
    }
    case Method::kDeleteCheckpoint:
      return WriteReply(result, *out.mutable_delete_checkpoint());
  }
}

}  // namespace

void WriteReply(const MutationResult& result, pb::CreateSessionResponse& out) {
  WriteSession(result, out);
  out.set_lease_token(result.receipt.token);
}

void WriteReply(const MutationResult& result, pb::UpdateSessionResponse& out) {
  WriteSession(result, out);
}

void WriteReply(const ResumeResult& resumed, pb::ResumeSessionResponse& out) {
  WriteSession(resumed.result, out);
  out.set_lease_token(resumed.token);
  Write(resumed.report, *out.mutable_report());
  for (const Message& message : resumed.messages) Write(message, *out.add_messages());
  for (const Slot& slot : resumed.slots) Write(slot, *out.add_slots());
  out.set_inline_omitted(resumed.inline_omitted);
  out.set_created(resumed.result.receipt.created);
}

void WriteReply(const BeginTurnResult& begun, pb::BeginTurnResponse& out) {
  WriteCommon(begun.result, out);
  out.set_turn(begun.result.receipt.turn.value());
  out.set_epoch(begun.result.receipt.epoch.value());
  if (begun.sm_slot) Write(*begun.sm_slot, *out.mutable_state_machine_slot());
  out.set_inline_omitted(begun.inline_omitted);
  Write(begun.result.head.cancel_requests, *out.mutable_cancel_requests());
}

void WriteReply(const MutationResult& result, pb::AppendJournalResponse& out) {
  out.set_revision(result.receipt.revision.value());
  out.set_last_entry(result.receipt.last_entry.value());
  out.set_journal_number(result.head.journal.value());
  Write(result.head.cancel_requests, *out.mutable_cancel_requests());
}

void WriteReply(const MutationResult& result, pb::CommitTurnResponse& out) {
  WriteCommon(result, out);
  out.set_last_entry(result.receipt.last_entry.value());
  out.set_message_count(result.receipt.messages.value());
  out.set_next_turn(result.receipt.turn.value());
  out.set_epoch(result.receipt.epoch.value());
  Write(result.head.cancel_requests, *out.mutable_cancel_requests());
}

void WriteReply(const MutationResult& result, pb::WriteSnapshotResponse& out) {
  WriteCommon(result, out);
  WriteHistory(result, out);
  out.set_created(result.receipt.created);
  out.set_session_uid(result.head.uid.value());
}

void WriteReply(const RestoreResult& restored, pb::RestoreSessionResponse& out) {
  WriteCommon(restored.result, out);
  WriteHistory(restored.result, out);
  out.set_removed_message_count(restored.result.receipt.removed_messages);
  for (const Message& message : restored.removed) Write(message, *out.add_removed_messages());
}

void WriteReply(const CheckpointResult& put, pb::PutCheckpointResponse& out) {
  const bool is_known = put.checkpoint.created_at != absl::Time();
  Write({.checkpoint = put.checkpoint, .is_pinned = is_known}, *out.mutable_checkpoint());
  out.set_repeated(put.result.repeated);
}

void WriteReply(const MutationResult& result, pb::DeleteCheckpointResponse& out) {
  out.set_repeated(result.repeated);
}

void WriteReply(const MutationResult& result, pb::AbandonTurnResponse& out) {
  WriteCommon(result, out);
}

void WriteReply(const MutationResult& result, pb::CloseSessionResponse& out) {
  WriteCommon(result, out);
  out.set_persisted(result.receipt.abandoned_turn == TurnNumber());
  out.set_abandoned_turn(result.receipt.abandoned_turn.value());
  out.set_drained_turns(result.receipt.drained_turns);
}

void WriteReply(const MutationResult& result, pb::CancelSessionResponse& out) {
  WriteSession(result, out);
}

void WriteReply(const MutationResult& result, pb::AppendAuditResponse& out) {
  WriteCommon(result, out);
  out.set_seq(result.receipt.audit.value());
}

void WriteReply(const MutationResult& result, pb::PutItemsResponse& out) {
  WriteCommon(result, out);
  for (const PutResult& put : result.receipt.puts) {
    pb::ItemPutResult& to = *out.add_results();
    to.set_version(put.version.value());
    to.set_existed(put.existed);
  }
  out.set_deleted(result.receipt.items_deleted);
  out.set_items_version(result.receipt.items_version.value());
  out.set_created(result.receipt.created);
  out.set_session_uid(result.head.uid.value());
}

void WriteReply(const AuditVerdict& verdict, pb::VerifyAuditResponse& out) {
  out.set_valid(verdict.sound());
  out.set_records(verdict.records);
  if (verdict.records > 0) out.set_last_hash(std::string(View(verdict.last)));
  if (!verdict.sound()) out.set_first_invalid_seq(verdict.records + 1);
  out.set_problem(verdict.why);
  out.set_revision(verdict.revision.value());
}

void WriteReply(const MutationResult& result, pb::DeleteSessionResponse& out) {
  WriteCommon(result, out);
}

void WriteReply(const MutationResult& result, pb::ReleaseLeaseResponse& out) {
  WriteCommon(result, out);
}

void WriteReply(const SessionId& session, const RequestOutcome& outcome,
                pb::GetRequestOutcomeResponse& out) {
  out.set_outcome(OutcomeToWire(outcome.kind));
  out.set_revision(outcome.head.revision.value());
  if (!outcome.request) return;
  *out.mutable_commit_time() = ToWire(outcome.request->at);
  WriteStored(outcome.request->stamp.method,
              MutationResult{.session = session,
                             .receipt = outcome.request->receipt,
                             .head = outcome.head,
                             .repeated = true},
              out);
}

}  // namespace holdfast
