#include "session/decide.h"

#include "platform/status_macros.h"
#include "session/audit_facts.h"
#include "session/cancel_requests.h"
#include "session/change_start.h"
#include "session/checkpoint_writes.h"
#include "session/compaction.h"
#include "session/fingerprint.h"
#include "session/grant_correlation.h"
#include "session/guard.h"
#include "session/history_base.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"

#include "absl/strings/str_join.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// A grant's request id is as good as the token that a repeat of it is answered with, so the change
// carries nothing of it that others read.
void HideGrant(const RequestStamp& stamp, Change& change) {
  change.correlation_id = GrantCorrelation(stamp.id);
  if (Mentions(change.trace.id, stamp.id)) change.trace = {};
}

// The change, unless its guard refuses it already.
absl::StatusOr<Decision> Checked(const Head& head, Change change) {
  if (auto refusal = CheckGuard(head, change.guard, change.entries)) return refusal->ToStatus();
  return Decision{.change = std::move(change)};
}

EventDraft TurnEnd(TurnNumber turn, TurnOutcome outcome) {
  return {.name = kSessionTurnEnd,
          .payload = {{"turn", std::to_string(turn.value())}, {"outcome", Name(outcome)}},
          .given = {}};
}

EventDraft TurnStart(TurnSource source) {
  return {
      .name = kSessionTurnStart, .payload = {{"source", Name(source)}}, .given = {Given::kTurn}};
}

EventDraft Plain(const char* name) { return {.name = name, .payload = {}, .given = {}}; }

// The end of the active turn.
EndTurn End(const Head& head, TurnOutcome outcome, bool committed) {
  EndTurn end{.outcome = outcome, .committed = committed, .known = std::nullopt};
  if (head.turn) end.known = KnownTurn{.turn = *head.turn, .previous = head.ended_turn_trace};
  return end;
}

// Whether people may want to go back to what there was before a turn with this outcome.
bool Interrupts(TurnOutcome outcome) {
  return outcome == TurnOutcome::kCancelled || outcome == TurnOutcome::kAbandoned ||
         outcome == TurnOutcome::kRecovered;
}

// Ends the active turn, if there is one, without a snapshot.
void Abandon(const Head& head, TurnOutcome outcome, Change& change) {
  if (!head.turn) return;
  change.end_turn = End(head, outcome, false);
  if (Interrupts(outcome)) change.pins_previous = CheckpointKind::kInterrupted;
  change.events.push_back(TurnEnd(head.turn->number, outcome));
}

// The state of a session after its turn was abandoned: PERSISTED if the last snapshot is not the
// one it was created with.
Lifecycle LeftBy(const Head& head) {
  const bool persisted = head.snapshots.back().at.revision > Revision(1);
  return persisted ? Lifecycle::kPersisted : Lifecycle::kIdle;
}

// The reason of a close that a cancel request asked for.
CloseReason ClosedFor(CancelReason reason) {
  switch (reason) {
    case CancelReason::kUser:
      return CloseReason::kExplicit;
    case CancelReason::kParent:
      return CloseReason::kParentCancel;
    case CancelReason::kCap:
      return CloseReason::kHalted;
  }
  return CloseReason::kExplicit;
}

// The facts of a cancel request for its event and its audit record.
std::map<std::string, std::string> FactsOf(const CancelRequest& cancel_request) {
  std::map<std::string, std::string> facts = {{"scope", Name(cancel_request.scope)},
                                              {"reason", Name(cancel_request.reason)}};
  if (cancel_request.turn != TurnNumber()) {
    facts["turn"] = std::to_string(cancel_request.turn.value());
  }
  if (!cancel_request.name.empty()) facts["name"] = cancel_request.name;
  return facts;
}

void Begin(const Caller& caller, TurnSource source, Change& change) {
  change.begin_turn =
      BeginTurn{.source = source, .trace = caller.trace, .parent_span_id = caller.span_id};
  change.events.push_back(TurnStart(source));
}

void Snapshot(const SnapshotContent& content, Change& change) {
  change.snapshot = true;
  change.messages = content.messages;
  change.slots = content.slots;
  change.deleted_slots = content.deleted_slots;
}

// What is asked for beside the snapshot that `change` writes.
absl::Status AddToSnapshot(const Head& head, const std::optional<Compaction>& compaction,
                           const std::optional<CheckpointMark>& checkpoint, Change& change) {
  if (compaction) AddCompaction(head, *compaction, change);
  return checkpoint ? PinThisSnapshot(head, *checkpoint, change) : absl::OkStatus();
}

// A snapshot inside the turn, which stays active.
void KeepTurn(TurnNumber turn, Change& change) {
  change.keeps_turn = true;
  change.end_turn.reset();
  change.events = {Plain(kSessionPersisted)};
  change.to = Lifecycle::kActive;
  change.audit = AuditDraft{kLifecycleClass, "save", {{"turn", std::to_string(turn.value())}}};
}

Guard Held(Trigger trigger, const std::optional<LeaseToken>& token,
           const std::optional<Revision>& expected) {
  Guard guard;
  guard.trigger = trigger;
  guard.lease = LeaseRule::kMustHold;
  guard.token = token;
  guard.expected_revision = expected;
  return guard;
}

}  // namespace

Guard GuardOf(const CommitTurnCommand& command) {
  Guard guard = Held(Trigger::kCommitTurn, command.token, command.expected_revision);
  guard.turn = command.turn;
  guard.last_entry = command.last_entry;
  guard.begins_next = command.begin_next.has_value();
  guard.uid = command.uid;
  return guard;
}

Guard GuardOf(const WriteCommand& command) {
  Guard guard = Held(Trigger::kWrite, command.token, command.expected_revision);
  guard.uid = command.uid;
  return guard;
}

Change DecideCreate(const Caller& caller, const SessionKey& key, const CreateCommand& command,
                    const RequestStamp& stamp, const Fresh& fresh) {
  Change change = StartChange(caller, key, stamp, Guard());
  if (command.kind == SessionKind::kLeased) HideGrant(stamp, change);
  change.create = Creation{.uid = fresh.uid,
                           .mode = command.mode,
                           .project_root = command.project_root,
                           .kind = command.kind,
                           .group = command.group,
                           .replaces = command.reuse_deleted};
  change.moves_revision = true;
  if (command.kind == SessionKind::kLeased) {
    change.grant =
        Grant{.holder = command.holder, .ttl = command.lease_ttl, .secret = fresh.secret};
  }
  change.to = Lifecycle::kIdle;
  Snapshot({.messages = command.messages, .slots = command.slots, .deleted_slots = {}}, change);
  change.sm = command.sm;
  for (const auto& [name, value] : command.attributes) change.attributes[name] = value;
  std::map<std::string, std::string> facts = {{"kind", Name(command.kind)}};
  if (!command.group.empty()) facts["group"] = command.group;
  change.events = {{.name = kSessionStarted, .payload = facts, .given = {}}};
  if (change.grant) facts["holder"] = command.holder;
  if (command.reuse_deleted) facts["former"] = command.reuse_deleted->value();
  const char* const code = command.reuse_deleted ? "re-create" : "start";
  change.audit = AuditDraft{kLifecycleClass, code, std::move(facts)};
  return change;
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const UpdateCommand& command) {
  Guard guard;
  guard.trigger = Trigger::kUpdate;
  guard.attributes = command.expected;
  Change change = StartChangeOf(caller, command, guard);
  change.attributes = command.attributes;
  std::map<std::string, std::string> facts;
  for (const auto& [key, value] : command.attributes) facts[key] = value ? "set" : "removed";
  change.audit = AuditDraft{kLifecycleClass, "update", std::move(facts)};
  return Checked(head, std::move(change));
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const ResumeCommand& command, const std::string& secret) {
  Guard guard;
  guard.trigger = Trigger::kResume;
  guard.token = command.token;
  guard.expected_store = command.expected_store;
  guard.known_revision = command.known_revision;
  guard.lease = command.force_reason ? LeaseRule::kForce : LeaseRule::kFreeOrExpired;
  const bool reconnect = command.token && IsCurrentToken(head, *command.token);
  if (reconnect) guard.lease = LeaseRule::kMustHold;
  Change change = StartChangeOf(caller, command, guard);
  HideGrant(*change.request, change);
  change.premise = PremiseOf(head);
  change.moves_revision = true;
  Abandon(head, TurnOutcome::kRecovered, change);
  change.grant = Grant{.holder = command.holder, .ttl = command.lease_ttl, .secret = secret};
  change.to = Lifecycle::kResumed;
  change.events.push_back(Plain(kSessionResumeStarted));
  change.events.push_back(
      {.name = kSessionLeaseChanged,
       .payload = {{"holder", command.holder}, {"previous_holder", head.lease.holder}},
       .given = {Given::kEpoch}});
  std::map<std::string, std::string> facts = {{"holder", command.holder},
                                              {"previous_holder", head.lease.holder}};
  if (command.force_reason) facts["force_reason"] = *command.force_reason;
  change.audit = AuditDraft{kLifecycleClass, "resume", std::move(facts)};
  auto decision = Checked(head, std::move(change));
  if (decision.ok() && reconnect) decision->change.reset();
  return decision;
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const BeginTurnCommand& command) {
  Change change = StartChangeOf(
      caller, command, Held(Trigger::kBeginTurn, command.token, command.expected_revision));
  change.premise = PremiseOf(head);
  change.moves_revision = true;
  change.renews_lease = true;
  change.to = Lifecycle::kActive;
  if (head.lifecycle == Lifecycle::kResumed) {
    change.events.push_back(Plain(kSessionResumed));
    change.hands_out_sm_slot = head.sm_slot_pending;
  }
  Begin(caller, command.source, change);
  change.audit = AuditDraft{kTurnClass, "TurnStarted", {{"source", Name(command.source)}}};
  return Checked(head, std::move(change));
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const AppendJournalCommand& command) {
  Guard guard = Held(Trigger::kAppendJournal, command.token, std::nullopt);
  guard.uid = command.uid;
  guard.turn = command.entries.front().turn;
  Change change = StartChange(caller, {caller.tenant, command.session}, std::nullopt, guard);
  change.correlation_id = "journal";  // of the audit record that slot updates of turn 0 leave
  change.renews_lease = true;
  change.entries = command.entries;
  return Checked(head, std::move(change));
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const CommitTurnCommand& command) {
  Change change = StartChangeOf(caller, command, GuardOf(command));
  change.moves_revision = true;
  change.renews_lease = true;
  change.end_turn = End(head, command.outcome, true);
  change.events = {TurnEnd(command.turn, command.outcome), Plain(kSessionPersisted)};
  Snapshot({.messages = command.messages,
            .slots = command.slots,
            .deleted_slots = command.deleted_slots},
           change);
  change.replaces_history = command.replace_history;
  change.upload = command.upload;
  change.sm = command.sm;
  change.to = command.begin_next ? Lifecycle::kActive : Lifecycle::kPersisted;
  if (command.begin_next) Begin(caller, *command.begin_next, change);
  change.audit = AuditDraft{kTurnClass,
                            "TurnEnded",
                            {{"turn", std::to_string(command.turn.value())},
                             {"outcome", Name(command.outcome)},
                             {"saved", "true"}}};
  if (command.keep_open) KeepTurn(command.turn, change);
  if (auto refusal = CheckGuard(head, change.guard, {})) return refusal->ToStatus();
  RETURN_IF_ERROR(AddToSnapshot(head, command.compaction, command.checkpoint, change));
  return Decision{.change = std::move(change)};
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const WriteCommand& command) {
  Change change = StartChangeOf(caller, command, GuardOf(command));
  if (auto refusal = CheckGuard(head, change.guard, {})) return refusal->ToStatus();
  const bool says = command.base || command.expected_revision;
  const bool appends = command.slots.empty() && command.deleted_slots.empty() && !command.sm &&
                       !command.replace_history;
  RETURN_IF_ERROR(CheckBuildsOn(head, says, appends));
  RETURN_IF_ERROR(TakeHistory(head, command, change));
  change.premise = PremiseOf(head);
  // What is appended to an open session follows whatever history it has by then.
  if (head.kind == SessionKind::kLeased || says) change.premise->history = head.history;
  change.moves_revision = true;
  change.renews_lease = true;
  change.snapshot = true;
  change.slots = command.slots;
  change.deleted_slots = command.deleted_slots;
  change.upload = command.upload;
  change.sm = command.sm;
  change.to = Lifecycle::kPersisted;
  if (head.lifecycle == Lifecycle::kResumed) change.events.push_back(Plain(kSessionResumed));
  change.events.push_back(Plain(kSessionPersisted));
  change.audit = AuditDraft{kLifecycleClass,
                            "write",
                            {{"history", change.replaces_history ? "replaced" : "extended"},
                             {"messages", std::to_string(change.messages.size())}}};
  RETURN_IF_ERROR(AddToSnapshot(head, command.compaction, command.checkpoint, change));
  return Decision{.change = std::move(change)};
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const AbandonTurnCommand& command) {
  Guard guard = Held(Trigger::kAbandonTurn, command.token, command.expected_revision);
  guard.turn = command.turn;
  Change change = StartChangeOf(caller, command, guard);
  change.premise = PremiseOf(head);
  change.moves_revision = true;
  change.renews_lease = true;
  Abandon(head, command.outcome, change);
  change.to = LeftBy(head);
  change.audit = AuditDraft{kTurnClass,
                            "TurnEnded",
                            {{"turn", std::to_string(command.turn.value())},
                             {"outcome", Name(command.outcome)},
                             {"saved", "false"}}};
  return Checked(head, std::move(change));
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const CloseCommand& command) {
  Guard guard;
  guard.trigger = Trigger::kClose;
  guard.lease = command.final_snapshot ? LeaseRule::kMustHold : LeaseRule::kHeldOrFree;
  guard.token = command.token;
  guard.expected_revision = command.expected_revision;
  // CONCURRENT_TURN, unless the turn was given time to end.
  const bool waited = command.drain > absl::ZeroDuration();
  if (command.final_snapshot && head.turn && !waited) guard.trigger = Trigger::kWrite;
  Change change = StartChangeOf(caller, command, guard);
  change.premise = PremiseOf(head);
  change.moves_revision = true;
  Abandon(head, TurnOutcome::kAbandoned, change);
  if (command.final_snapshot) {
    const SnapshotContent& last = *command.final_snapshot;
    RETURN_IF_ERROR(CheckBuildsOn(head, command.expected_revision.has_value(),
                                  last.slots.empty() && last.deleted_slots.empty()));
    Snapshot(last, change);
    change.events.push_back(Plain(kSessionPersisted));
  }
  change.ends_lease = true;
  change.to = Lifecycle::kClosed;
  change.close_reason = command.reason;
  change.drained_turns = command.drained_turns;
  change.events.push_back(
      {.name = kSessionClosed, .payload = {{"reason", Name(command.reason)}}, .given = {}});
  change.audit = AuditDraft{kLifecycleClass, "end", {{"reason", Name(command.reason)}}};
  auto decision = Checked(head, std::move(change));
  const bool nothing = head.lifecycle == Lifecycle::kClosed && !command.final_snapshot;
  if (decision.ok() && nothing) decision->change.reset();
  return decision;
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const DeleteCommand& command) {
  Guard guard;
  guard.trigger = Trigger::kDelete;
  guard.lease = LeaseRule::kHeldOrFree;
  guard.token = command.token;
  Change change = StartChangeOf(caller, command, guard);
  change.moves_revision = true;
  change.ends_lease = true;
  change.tombstone = true;
  change.events = {Plain(kSessionDeleted)};
  change.audit = AuditDraft{kLifecycleClass, "delete", {}};
  return Checked(head, std::move(change));
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const ReleaseCommand& command) {
  Change change =
      StartChangeOf(caller, command, Held(Trigger::kRelease, command.token, std::nullopt));
  change.ends_lease = true;
  change.events = {{.name = kSessionLeaseChanged,
                    .payload = {{"holder", ""}, {"previous_holder", head.lease.holder}},
                    .given = {Given::kEpoch}}};
  change.audit = AuditDraft{kLifecycleClass, "release", {}};
  return Checked(head, std::move(change));
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const CancelCommand& command) {
  Guard guard;
  guard.trigger = Trigger::kCancel;
  if (command.scope != CancelScope::kSession) guard.turn = command.turn;
  const CancelRequest cancel_request{.scope = command.scope,
                                     .reason = command.reason,
                                     .turn = command.turn,
                                     .name = command.name,
                                     .at = {}};
  Change change = StartChangeOf(caller, command, guard);
  change.premise = PremiseOf(head);
  change.cancel_request = cancel_request;
  change.events = {
      {.name = kSessionCancelRequested, .payload = FactsOf(cancel_request), .given = {}}};
  change.audit = AuditDraft{kLifecycleClass, "cancel", FactsOf(cancel_request)};
  auto decision = Checked(head, std::move(change));
  if (!decision.ok()) return decision;
  if (HasCancelRequest(head, cancel_request)) {
    decision->change.reset();
  } else if (!cancel_request.name.empty() &&
             CountInformingRequests(head) >= kInformingCancelRequests) {
    return TooLarge("name", kInformingCancelRequests, CountInformingRequests(head) + 1);
  }
  return decision;
}

absl::StatusOr<Decision> DecideCancelled(const Head& head, const SessionKey& key) {
  const CancelRequest* const cancel_request = EndingCancelRequest(head);
  if (cancel_request == nullptr) return Decision();
  Guard guard;
  guard.trigger = Trigger::kEndCancelled;
  guard.uid = head.uid;
  Change change = StartChange(Caller{}, key, std::nullopt, guard);
  change.correlation_id = "cancel";
  change.premise = PremiseOf(head);
  change.moves_revision = true;
  change.raises_epoch = head.turn.has_value();
  change.ends_lease = true;
  Abandon(head, TurnOutcome::kCancelled, change);
  if (const CancelRequest* const whole = SessionCancelRequest(head)) {
    const std::string reason = Name(ClosedFor(whole->reason));
    change.to = Lifecycle::kClosed;
    change.close_reason = ClosedFor(whole->reason);
    change.events.push_back({.name = kSessionClosed, .payload = {{"reason", reason}}, .given = {}});
    change.audit =
        AuditDraft{kLifecycleClass, "end", {{"reason", reason}, {"cancel", Name(whole->reason)}}};
  } else {
    change.to = LeftBy(head);
    change.events.push_back({.name = kSessionLeaseChanged,
                             .payload = {{"holder", ""}, {"previous_holder", head.lease.holder}},
                             .given = {Given::kEpoch}});
    change.audit = AuditDraft{kTurnClass,
                              "TurnEnded",
                              {{"turn", std::to_string(cancel_request->turn.value())},
                               {"outcome", Name(TurnOutcome::kCancelled)},
                               {"saved", "false"},
                               {"cancel", Name(cancel_request->reason)}}};
  }
  return Checked(head, std::move(change));
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const AppendAuditCommand& command) {
  Guard guard;
  guard.trigger = Trigger::kAppendAudit;
  Change change = StartChangeOf(caller, command, guard);
  change.correlation_id = command.correlation_id;
  change.audit = AuditDraft{command.audit_class, command.code, CutLongFacts(command.data)};
  return Checked(head, std::move(change));
}

absl::StatusOr<Decision> DecideRecovery(const Head& head, const SessionKey& key) {
  Guard guard;
  guard.trigger = Trigger::kRecover;
  guard.uid = head.uid;
  guard.lease = LeaseRule::kFreeOrExpired;
  Change change = StartChange(Caller{}, key, std::nullopt, guard);
  change.correlation_id = "recovery";
  change.premise = PremiseOf(head);
  change.moves_revision = true;
  Abandon(head, TurnOutcome::kRecovered, change);
  change.raises_epoch = true;
  change.to = Lifecycle::kClosed;
  change.close_reason = CloseReason::kCrash;
  change.events.push_back(
      {.name = kSessionClosed, .payload = {{"reason", Name(CloseReason::kCrash)}}, .given = {}});
  change.audit = AuditDraft{kLifecycleClass, "end", {{"reason", Name(CloseReason::kCrash)}}};
  return Checked(head, std::move(change));
}

}  // namespace holdfast
