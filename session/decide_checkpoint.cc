#include "session/checkpoint_writes.h"
#include "session/decide.h"
#include "session/fingerprint.h"
#include "session/guard.h"
#include "session/limits.h"
#include "session/names.h"
#include "session/refusal.h"

#include <map>
#include <string>
#include <utility>

namespace holdfast {
namespace {

template <typename Command>
Change StartCheckpoints(const Head& head, const Caller& caller, const Command& command) {
  Change change;
  change.key = {caller.tenant, command.session};
  change.request = StampOf(command);
  change.guard = GuardOf(command);
  change.premise = PremiseOf(head);
  change.premise->checkpoints = head.checkpoints.version;
  change.trace = caller.trace;
  change.correlation_id = command.request.value();
  return change;
}

std::map<std::string, std::string> CheckpointFacts(const Checkpoint& checkpoint) {
  std::map<std::string, std::string> facts = {
      {"revision", std::to_string(checkpoint.revision().value())},
      {"status", Name(checkpoint.status)}};
  if (!checkpoint.name.empty()) facts["name"] = checkpoint.name;
  return facts;
}

bool IsSame(const Checkpoint& one, const Checkpoint& other) {
  return one.name == other.name && one.status == other.status && one.labels == other.labels;
}

}  // namespace

Guard GuardOf(const PutCheckpointCommand& command) {
  Guard guard;
  guard.trigger = Trigger::kPutCheckpoint;
  guard.uid = command.uid;
  return guard;
}

Guard GuardOf(const DeleteCheckpointCommand& command) {
  Guard guard;
  guard.trigger = Trigger::kDeleteCheckpoint;
  guard.uid = command.uid;
  return guard;
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const PutCheckpointCommand& command,
                                const CheckpointTarget& target) {
  const Checkpoint& before = target.checkpoint;
  CheckpointPut put{.checkpoint = before};
  Checkpoint& checkpoint = put.checkpoint;
  if (command.name) checkpoint.name = *command.name;
  if (command.status) checkpoint.status = *command.status;
  if (command.labels) checkpoint.labels = *command.labels;
  if (target.exists && IsSame(checkpoint, before)) return Decision();
  CheckpointWrites writes{.manual = head.checkpoints.manual, .own = head.checkpoints.own};
  if (checkpoint.name != before.name) {
    if (target.has_name) return CheckpointNameTaken("name", *target.has_name);
    if (!before.name.empty()) writes.deletes.push_back(CheckpointNameItemName(before.name));
    put.takes_name = !checkpoint.name.empty();
  }
  if (!target.exists && ++writes.manual > kCheckpointsPerSession) {
    return TooLarge("checkpoint", kCheckpointsPerSession, writes.manual);
  }
  Change change = StartCheckpoints(head, caller, command);
  change.audit = AuditDraft{kLifecycleClass, "checkpoint", CheckpointFacts(checkpoint)};
  change.events = {
      {.name = kSessionCheckpointed, .payload = CheckpointFacts(checkpoint), .given = {}}};
  writes.puts.push_back(std::move(put));
  change.checkpoints = std::move(writes);
  return Decision{.change = std::move(change)};
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const DeleteCheckpointCommand& command,
                                const std::vector<Checkpoint>& there) {
  Change change = StartCheckpoints(head, caller, command);
  CheckpointWrites writes{.manual = head.checkpoints.manual, .own = head.checkpoints.own};
  std::map<std::string, std::string> facts;
  for (const Checkpoint& checkpoint : there) {
    writes.deletes.push_back(CheckpointItemName(checkpoint.kind, checkpoint.revision()));
    --(checkpoint.kind == CheckpointKind::kManual ? writes.manual : writes.own);
    facts.merge(CheckpointFacts(checkpoint));
    if (checkpoint.name.empty()) continue;
    writes.deletes.push_back(CheckpointNameItemName(checkpoint.name));
  }
  change.audit = AuditDraft{kLifecycleClass, "checkpoint-delete", std::move(facts)};
  change.checkpoints = std::move(writes);
  return Decision{.change = std::move(change)};
}

}  // namespace holdfast
