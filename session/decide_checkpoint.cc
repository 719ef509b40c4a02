#include "platform/status_macros.h"
#include "session/change_start.h"
#include "session/checkpoint_writes.h"
#include "session/decide.h"
#include "session/guard.h"
#include "session/names.h"
#include "session/refusal.h"

#include <map>
#include <string>
#include <utility>

namespace holdfast {
namespace {

template <typename Command>
Change StartCheckpoints(const Head& head, const Caller& caller, const Command& command) {
  Change change = StartChangeOf(caller, command, GuardOf(command));
  change.premise = PremiseOf(head);
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
  Change change = StartCheckpoints(head, caller, command);
  CheckpointWrites& writes = CheckpointWritesOf(head, change);
  if (checkpoint.name != before.name) {
    if (target.has_name) return CheckpointNameTaken("name", *target.has_name);
    if (!before.name.empty()) writes.deletes.push_back(CheckpointNameItemName(before.name));
    put.takes_name = !checkpoint.name.empty();
  }
  if (!target.exists) {
    RETURN_IF_ERROR(CountManual(writes));
  }
  change.audit = AuditDraft{kLifecycleClass, "checkpoint", CheckpointFacts(checkpoint)};
  change.events = {
      {.name = kSessionCheckpointed, .payload = CheckpointFacts(checkpoint), .given = {}}};
  writes.puts.push_back(std::move(put));
  return Decision{.change = std::move(change)};
}

absl::StatusOr<Decision> Decide(const Head& head, const Caller& caller,
                                const DeleteCheckpointCommand& command,
                                const std::vector<Checkpoint>& there) {
  Change change = StartCheckpoints(head, caller, command);
  CheckpointWrites& writes = CheckpointWritesOf(head, change);
  std::map<std::string, std::string> facts;
  for (const Checkpoint& checkpoint : there) {
    writes.deletes.push_back(CheckpointItemName(checkpoint.kind, checkpoint.revision()));
    if (checkpoint.kind == CheckpointKind::kManual) --writes.manual;
    facts.merge(CheckpointFacts(checkpoint));
    if (checkpoint.name.empty()) continue;
    writes.deletes.push_back(CheckpointNameItemName(checkpoint.name));
  }
  change.audit = AuditDraft{kLifecycleClass, "checkpoint-delete", std::move(facts)};
  return Decision{.change = std::move(change)};
}

}  // namespace holdfast
