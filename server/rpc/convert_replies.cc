#include "server/rpc/convert_replies.h"

#include "server/rpc/convert_fields.h"
#include "server/rpc/convert_session.h"
#include "session/saboteur.h"

namespace holdfast {
namespace {

// Revision and the mark of a repeat, which every reply has that shows no session.
template <typename Reply>
void WriteCommon(const Done& done, Reply& out) {
  out.set_revision(done.receipt.revision.value());
  out.set_repeated(done.repeated);
}

// The session as it is now, and the mark of a repeat.
template <typename Reply>
void WriteSession(const Done& done, Reply& out) {
  Write(done.session, done.head, *out.mutable_session());
  out.set_repeated(done.repeated);
}

pb::GetRequestOutcomeResponse::Outcome ToWire(RequestOutcome::Kind kind) {
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
void WriteStored(Method method, Done done, pb::GetRequestOutcomeResponse& out) {
  done.receipt.token.clear();
  switch (method) {
    case Method::kCreate:
      return WriteReply(done, *out.mutable_create_session());
    case Method::kUpdate:
      return WriteReply(done, *out.mutable_update_session());
    case Method::kResume: {
      Resumed resumed{.done = std::move(done)};
      resumed.report.restored = resumed.done.receipt.before;
      resumed.report.snapshot = resumed.done.receipt.snapshot;
      resumed.report.entries_after_snapshot = resumed.done.receipt.entries_dropped;
      resumed.report.abandoned_turn = resumed.done.receipt.abandoned_turn;
      resumed.report.previous_holder = resumed.done.receipt.previous_holder;
      resumed.inline_omitted = true;
      return WriteReply(resumed, *out.mutable_resume_session());
    }
    case Method::kBeginTurn: {
      const bool omitted = done.receipt.sm_slot_handed_out;
      return WriteReply(Begun{.done = std::move(done), .inline_omitted = omitted},
                        *out.mutable_begin_turn());
    }
    case Method::kCommitTurn:
      return WriteReply(done, *out.mutable_commit_turn());
    case Method::kAbandonTurn:
      return WriteReply(done, *out.mutable_abandon_turn());
    case Method::kClose:
      return WriteReply(done, *out.mutable_close_session());
    case Method::kAppendAudit:
      return WriteReply(done, *out.mutable_append_audit());
    case Method::kCancel:
      return WriteReply(done, *out.mutable_cancel_session());
    case Method::kRelease:
      return WriteReply(done, *out.mutable_release_lease());
    case Method::kDelete:
      return WriteReply(done, *out.mutable_delete_session());
    case Method::kWrite:
      return WriteReply(done, *out.mutable_write_snapshot());
  }
}

}  // namespace

void WriteReply(const Done& done, pb::CreateSessionResponse& out) {
  WriteSession(done, out);
  out.set_lease_token(done.receipt.token);
}

void WriteReply(const Done& done, pb::UpdateSessionResponse& out) { WriteSession(done, out); }

void WriteReply(const Resumed& resumed, pb::ResumeSessionResponse& out) {
  WriteSession(resumed.done, out);
  out.set_lease_token(resumed.token);
  Write(resumed.report, *out.mutable_report());
  for (const Message& message : resumed.messages) Write(message, *out.add_messages());
  for (const Slot& slot : resumed.slots) Write(slot, *out.add_slots());
  out.set_inline_omitted(resumed.inline_omitted);
  out.set_created(resumed.done.receipt.created);
}

void WriteReply(const Begun& begun, pb::BeginTurnResponse& out) {
  WriteCommon(begun.done, out);
  out.set_turn(begun.done.receipt.turn.value());
  const bool broken = Sabotaged(Saboteur::kRepeatUnderNewEpoch);
  const Epoch epoch = broken ? begun.done.head.lease.epoch : begun.done.receipt.epoch;
  out.set_epoch(epoch.value());
  if (begun.sm_slot) Write(*begun.sm_slot, *out.mutable_state_machine_slot());
  out.set_inline_omitted(begun.inline_omitted);
  Write(begun.done.head.marks, *out.mutable_cancel_marks());
}

void WriteReply(const Done& done, pb::AppendJournalResponse& out) {
  out.set_revision(done.receipt.revision.value());
  out.set_last_entry(done.receipt.last_entry.value());
  out.set_journal_number(done.head.journal.value());
  Write(done.head.marks, *out.mutable_cancel_marks());
}

void WriteReply(const Done& done, pb::CommitTurnResponse& out) {
  WriteCommon(done, out);
  out.set_last_entry(done.receipt.last_entry.value());
  out.set_message_count(done.receipt.messages.value());
  out.set_next_turn(done.receipt.turn.value());
  out.set_epoch(done.receipt.epoch.value());
  Write(done.head.marks, *out.mutable_cancel_marks());
}

void WriteReply(const Done& done, pb::WriteSnapshotResponse& out) {
  WriteCommon(done, out);
  out.set_message_count(done.receipt.messages.value());
  if (done.head.revision != done.receipt.revision) return;
  out.set_history_digest(std::string(View(done.head.history)));
  out.set_generation(done.head.generation.value());
}

void WriteReply(const Done& done, pb::AbandonTurnResponse& out) { WriteCommon(done, out); }

void WriteReply(const Done& done, pb::CloseSessionResponse& out) {
  WriteCommon(done, out);
  out.set_persisted(done.receipt.abandoned_turn == TurnNumber());
  out.set_abandoned_turn(done.receipt.abandoned_turn.value());
  out.set_drained_turns(done.receipt.drained_turns);
}

void WriteReply(const Done& done, pb::CancelSessionResponse& out) { WriteSession(done, out); }

void WriteReply(const Done& done, pb::AppendAuditResponse& out) {
  WriteCommon(done, out);
  out.set_seq(done.receipt.audit.value());
}

void WriteReply(const AuditVerdict& verdict, pb::VerifyAuditResponse& out) {
  out.set_sound(verdict.sound());
  out.set_records(verdict.records);
  if (verdict.records > 0) out.set_last_hash(std::string(View(verdict.last)));
  if (!verdict.sound()) out.set_first_bad_seq(verdict.records + 1);
  out.set_why(verdict.why);
  out.set_revision(verdict.revision.value());
}

void WriteReply(const Done& done, pb::DeleteSessionResponse& out) { WriteCommon(done, out); }

void WriteReply(const Done& done, pb::ReleaseLeaseResponse& out) { WriteCommon(done, out); }

void WriteReply(const SessionId& session, const RequestOutcome& outcome,
                pb::GetRequestOutcomeResponse& out) {
  out.set_outcome(ToWire(outcome.kind));
  out.set_revision(outcome.head.revision.value());
  if (!outcome.request) return;
  *out.mutable_commit_time() = ToWire(outcome.request->at);
  WriteStored(outcome.request->stamp.method,
              Done{.session = session,
                   .receipt = outcome.request->receipt,
                   .head = outcome.head,
                   .repeated = true},
              out);
}

}  // namespace holdfast
