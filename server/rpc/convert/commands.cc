#include "server/rpc/convert/commands.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/checkpoints.h"
#include "server/rpc/convert/compaction.h"
#include "server/rpc/convert/contents.h"
#include "server/rpc/convert/fields.h"
#include "server/rpc/convert/items.h"
#include "session/limits.h"
#include "session/refusal.h"

#include <string>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

// Reads which request it is, and of which session.
template <typename Request, typename Command>
absl::Status ReadNames(const Request& request, Command& command) {
  ASSIGN_OR_RETURN(command.request, ReadId<RequestId>("request_id", request.request_id()));
  ASSIGN_OR_RETURN(command.session, ReadId<SessionId>("session_id", request.session_id()));
  ASSIGN_OR_RETURN(command.uid, ReadSessionUid(request));
  return absl::OkStatus();
}

// The same, and the token.
template <typename Request, typename Command>
absl::Status ReadCommon(const Request& request, Command& command) {
  RETURN_IF_ERROR(ReadNames(request, command));
  ASSIGN_OR_RETURN(command.token, ReadToken("lease_token", request.lease_token()));
  return absl::OkStatus();
}

// The history that a write builds on.
template <typename Request>
absl::StatusOr<std::optional<HistoryBase>> ReadBase(const Request& request) {
  if (!request.has_base()) return std::nullopt;
  const std::string& digest = request.base().history_digest();
  if (digest.size() != kDigestBytes) {
    return InvalidField("base.history_digest", "must be 32 bytes").ToStatus();
  }
  return HistoryBase{.count = MessageSeq(request.base().message_count()),
                     .digest = DigestFrom(digest)};
}

absl::Status ReadManifest(const pb::CreateSessionRequest& request, CreateCommand& command) {
  if (!request.has_manifest()) return InvalidField("manifest", "must be set");
  const pb::Manifest& manifest = request.manifest();
  RETURN_IF_ERROR(CheckNoUnknown(manifest));
  ASSIGN_OR_RETURN(command.mode, ReadMode("manifest.mode", manifest.mode()));
  command.project_root = manifest.project_root();
  if (manifest.has_state_machine()) command.sm = ReadStateMachine(manifest.state_machine());
  return absl::OkStatus();
}

// A session that another call creates has the ids of that call.
template <typename Request>
absl::StatusOr<CreateCommand> ReadCreateIfMissing(pb::CreateSessionRequest& create,
                                                  const Request& request) {
  if (!create.request_id().empty() && create.request_id() != request.request_id()) {
    return InvalidField("create_if_missing.request_id", "must be left out or the request's own");
  }
  if (!create.session_id().empty() && create.session_id() != request.session_id()) {
    return InvalidField("create_if_missing.session_id", "must be left out or the request's own");
  }
  create.set_request_id(request.request_id());
  create.set_session_id(request.session_id());
  return ReadCreate(std::move(create));
}

absl::StatusOr<std::optional<std::string>> ReadForce(const pb::ResumeSessionRequest& request) {
  if (!request.has_force()) return std::optional<std::string>();
  if (request.force().reason().empty()) {
    return InvalidField("force.reason", "must say why the session is taken over");
  }
  return std::optional(request.force().reason());
}

std::optional<StateMachineRef> ReadNewStateMachine(const pb::StateMachine& sm) {
  if (sm.extension_id().empty() && sm.slot_ref().empty()) return std::nullopt;
  return ReadStateMachine(sm);
}

absl::Status ReadAfterCommit(const pb::CommitTurnRequest& request, CommitTurnCommand& command) {
  command.keep_open = request.has_keep_open();
  if (!request.has_begin_next()) return absl::OkStatus();
  ASSIGN_OR_RETURN(command.begin_next,
                   ReadTurnSource("begin_next.source", request.begin_next().source()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CreateCommand> ReadCreate(pb::CreateSessionRequest&& request) {
  CreateCommand command;
  ASSIGN_OR_RETURN(command.request, ReadId<RequestId>("request_id", request.request_id()));
  ASSIGN_OR_RETURN(command.session, ReadOptionalId<SessionId>("session_id", request.session_id()));
  ASSIGN_OR_RETURN(command.reuse_deleted,
                   ReadOptionalId<SessionUid>("reuse_deleted", request.reuse_deleted()));
  if (command.reuse_deleted && !command.session) {
    return InvalidField("reuse_deleted", "needs a session_id");
  }
  RETURN_IF_ERROR(ReadManifest(request, command));
  ASSIGN_OR_RETURN(command.messages, ReadMessages(*request.mutable_messages()));
  ASSIGN_OR_RETURN(command.slots, ReadSlots("slots", *request.mutable_slots()));
  command.attributes = {request.attributes().begin(), request.attributes().end()};
  command.group = request.group();
  if (request.kind() != pb::SESSION_KIND_UNSPECIFIED) {
    ASSIGN_OR_RETURN(command.kind, ReadKindOfSession("kind", request.kind()));
  }
  command.holder = request.holder();
  const bool leased = command.kind == SessionKind::kLeased;
  ASSIGN_OR_RETURN(command.lease_ttl,
                   ReadDuration("lease_ttl", request.has_lease_ttl(), request.lease_ttl(),
                                leased ? kLeaseTtlDefault : absl::ZeroDuration()));
  return command;
}

absl::StatusOr<UpdateCommand> ReadUpdate(pb::UpdateSessionRequest&& request) {
  UpdateCommand command;
  ASSIGN_OR_RETURN(command.request, ReadId<RequestId>("request_id", request.request_id()));
  ASSIGN_OR_RETURN(command.session,
                   ReadId<SessionId>("session_id", request.session().session_id()));
  ASSIGN_OR_RETURN(command.uid, ReadSessionUid(request));
  ASSIGN_OR_RETURN(command.attributes, ReadAttributePatch(request.session().attributes(),
                                                          request.update_mask().paths()));
  const auto& expected = request.expected_attributes();
  command.expected = {expected.begin(), expected.end()};
  return command;
}

absl::StatusOr<ResumeCommand> ReadResume(pb::ResumeSessionRequest&& request) {
  ResumeCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  command.holder = request.holder();
  ASSIGN_OR_RETURN(command.lease_ttl, ReadDuration("lease_ttl", request.has_lease_ttl(),
                                                   request.lease_ttl(), kLeaseTtlDefault));
  ASSIGN_OR_RETURN(command.force_reason, ReadForce(request));
  ASSIGN_OR_RETURN(command.expected_store,
                   ReadOptionalId<StoreId>("expected_store_id", request.expected_store_id()));
  command.known_revision = ReadOptionalNumber<Revision>(request.known_revision());
  if (request.has_create_if_missing()) {
    pb::CreateSessionRequest& create = *request.mutable_create_if_missing();
    if (create.holder().empty()) create.set_holder(request.holder());
    if (!create.has_lease_ttl() && request.has_lease_ttl()) {
      *create.mutable_lease_ttl() = request.lease_ttl();
    }
    ASSIGN_OR_RETURN(command.create_if_missing, ReadCreateIfMissing(create, request));
  }
  ASSIGN_OR_RETURN(command.expected_slots, ReadExpectedSlots(request.expected_slots()));
  command.tail_messages = request.tail_messages();
  ASSIGN_OR_RETURN(command.wait,
                   ReadDuration("wait", request.has_wait(), request.wait(), absl::ZeroDuration()));
  return command;
}

absl::StatusOr<BeginTurnCommand> ReadBeginTurn(pb::BeginTurnRequest&& request) {
  BeginTurnCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  command.expected_revision = ReadOptionalNumber<Revision>(request.expected_revision());
  ASSIGN_OR_RETURN(command.source, ReadTurnSource("source", request.source()));
  return command;
}

absl::StatusOr<AppendJournalCommand> ReadAppendJournal(pb::AppendJournalRequest&& request) {
  AppendJournalCommand command;
  ASSIGN_OR_RETURN(command.session, ReadId<SessionId>("session_id", request.session_id()));
  ASSIGN_OR_RETURN(command.uid, ReadSessionUid(request));
  ASSIGN_OR_RETURN(command.token, ReadToken("lease_token", request.lease_token()));
  ASSIGN_OR_RETURN(command.entries, ReadEntries(*request.mutable_entries()));
  command.acting_owner = request.acting_owner();
  return command;
}

absl::StatusOr<CommitTurnCommand> ReadCommitTurn(pb::CommitTurnRequest&& request) {
  CommitTurnCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  command.turn = TurnNumber(request.turn());
  command.expected_revision = ReadOptionalNumber<Revision>(request.expected_revision());
  RETURN_IF_ERROR(ReadAfterCommit(request, command));
  const bool ends = !command.keep_open || request.outcome() != pb::TURN_OUTCOME_UNSPECIFIED;
  if (ends) {
    ASSIGN_OR_RETURN(command.outcome, ReadTurnOutcome("outcome", request.outcome()));
  }
  command.replace_history = request.replace_history();
  ASSIGN_OR_RETURN(command.messages, ReadMessages(*request.mutable_messages()));
  ASSIGN_OR_RETURN(command.slots, ReadSlots("slots", *request.mutable_slots()));
  command.deleted_slots = ReadTexts(request.deleted_slots());
  if (request.has_state_machine()) command.sm = ReadNewStateMachine(request.state_machine());
  command.last_entry = ReadOptionalNumber<EntryNumber>(request.last_entry());
  command.acting_owner = request.acting_owner();
  ASSIGN_OR_RETURN(command.checkpoint, ReadMark(request));
  ASSIGN_OR_RETURN(command.compaction, ReadCompaction(request));
  return command;
}

absl::StatusOr<WriteCommand> ReadWrite(pb::WriteSnapshotRequest&& request) {
  WriteCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  command.expected_revision = ReadOptionalNumber<Revision>(request.expected_revision());
  ASSIGN_OR_RETURN(command.base, ReadBase(request));
  command.replace_history = request.replace_history();
  ASSIGN_OR_RETURN(command.messages, ReadMessages(*request.mutable_messages()));
  ASSIGN_OR_RETURN(command.slots, ReadSlots("slots", *request.mutable_slots()));
  command.deleted_slots = ReadTexts(request.deleted_slots());
  if (request.has_state_machine()) command.sm = ReadNewStateMachine(request.state_machine());
  command.acting_owner = request.acting_owner();
  ASSIGN_OR_RETURN(command.checkpoint, ReadMark(request));
  ASSIGN_OR_RETURN(command.compaction, ReadCompaction(request));
  if (request.has_create_if_missing()) {
    ASSIGN_OR_RETURN(command.create_if_missing,
                     ReadCreateIfMissing(*request.mutable_create_if_missing(), request));
  }
  return command;
}

absl::StatusOr<RestoreCommand> ReadRestore(pb::RestoreSessionRequest&& request) {
  RestoreCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  command.expected_revision = ReadOptionalNumber<Revision>(request.expected_revision());
  ASSIGN_OR_RETURN(command.base, ReadBase(request));
  const pb::RestorePoint& point = request.point();
  command.point.revision = ReadOptionalNumber<Revision>(point.revision());
  if (point.has_messages()) command.point.messages = MessageSeq(point.messages());
  command.point.drop_last = point.drop_last();
  command.point.checkpoint = point.checkpoint();
  command.return_messages = request.return_messages();
  command.pin_previous = request.pin_previous();
  ASSIGN_OR_RETURN(command.messages, ReadMessages(*request.mutable_messages()));
  ASSIGN_OR_RETURN(command.slots, ReadSlots("slots", *request.mutable_slots()));
  return command;
}

absl::StatusOr<PutCheckpointCommand> ReadPutCheckpoint(pb::PutCheckpointRequest&& request) {
  PutCheckpointCommand command;
  RETURN_IF_ERROR(ReadNames(request, command));
  command.revision = ReadOptionalNumber<Revision>(request.revision());
  RETURN_IF_ERROR(ReadCheckpointFields(request, command));
  return command;
}

absl::StatusOr<DeleteCheckpointCommand> ReadDeleteCheckpoint(
    pb::DeleteCheckpointRequest&& request) {
  DeleteCheckpointCommand command;
  RETURN_IF_ERROR(ReadNames(request, command));
  command.revision = ReadOptionalNumber<Revision>(request.revision());
  command.name = std::move(*request.mutable_name());
  return command;
}

absl::StatusOr<AbandonTurnCommand> ReadAbandonTurn(pb::AbandonTurnRequest&& request) {
  AbandonTurnCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  command.turn = TurnNumber(request.turn());
  command.expected_revision = ReadOptionalNumber<Revision>(request.expected_revision());
  if (request.outcome() != pb::TURN_OUTCOME_UNSPECIFIED) {
    ASSIGN_OR_RETURN(command.outcome, ReadTurnOutcome("outcome", request.outcome()));
  }
  return command;
}

absl::StatusOr<CloseCommand> ReadClose(pb::CloseSessionRequest&& request) {
  CloseCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  command.expected_revision = ReadOptionalNumber<Revision>(request.expected_revision());
  if (request.reason() != pb::CLOSE_REASON_UNSPECIFIED) {
    ASSIGN_OR_RETURN(command.reason, ReadCloseReason("reason", request.reason()));
  }
  ASSIGN_OR_RETURN(command.drain, ReadDuration("drain", request.has_drain(), request.drain(),
                                               absl::ZeroDuration()));
  if (request.has_final_snapshot()) {
    pb::FinalSnapshot& snapshot = *request.mutable_final_snapshot();
    SnapshotContent content;
    ASSIGN_OR_RETURN(content.messages, ReadMessages(*snapshot.mutable_messages()));
    ASSIGN_OR_RETURN(content.slots, ReadSlots("slots", *snapshot.mutable_slots()));
    content.deleted_slots = ReadTexts(snapshot.deleted_slots());
    command.final_snapshot = std::move(content);
  }
  return command;
}

absl::StatusOr<CancelCommand> ReadCancel(pb::CancelSessionRequest&& request) {
  CancelCommand command;
  RETURN_IF_ERROR(ReadNames(request, command));
  ASSIGN_OR_RETURN(command.scope, ReadCancelScope("scope", request.scope()));
  if (request.reason() != pb::CANCEL_REASON_UNSPECIFIED) {
    ASSIGN_OR_RETURN(command.reason, ReadCancelReason("reason", request.reason()));
  }
  command.turn = TurnNumber(request.turn());
  command.name = request.name();
  return command;
}

absl::StatusOr<AppendAuditCommand> ReadAppendAudit(pb::AppendAuditRequest&& request) {
  AppendAuditCommand command;
  RETURN_IF_ERROR(ReadNames(request, command));
  command.audit_class = request.audit_class();
  command.code = request.code();
  command.correlation_id = request.correlation_id();
  command.data = {request.data().begin(), request.data().end()};
  return command;
}

absl::StatusOr<PutItemsCommand> ReadPutItems(pb::PutItemsRequest&& request) {
  PutItemsCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  ASSIGN_OR_RETURN(command.writes, ReadItemWrites(request));
  if (request.has_create_if_missing()) {
    ASSIGN_OR_RETURN(command.create_if_missing,
                     ReadCreateIfMissing(*request.mutable_create_if_missing(), request));
  }
  return command;
}

absl::StatusOr<DeleteCommand> ReadDelete(pb::DeleteSessionRequest&& request) {
  DeleteCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  return command;
}

absl::StatusOr<ReleaseCommand> ReadRelease(pb::ReleaseLeaseRequest&& request) {
  ReleaseCommand command;
  RETURN_IF_ERROR(ReadCommon(request, command));
  return command;
}

absl::StatusOr<OutcomeQuery> ReadOutcomeQuery(const pb::GetRequestOutcomeRequest& request) {
  OutcomeQuery query;
  RETURN_IF_ERROR(ReadCommon(request, query));
  ASSIGN_OR_RETURN(query.method, ReadMethod("method", request.method()));
  return query;
}

}  // namespace holdfast
