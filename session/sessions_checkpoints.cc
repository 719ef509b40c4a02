#include "platform/status_macros.h"
#include "session/check_command.h"
#include "session/checkpoint_reads.h"
#include "session/checkpoint_target.h"
#include "session/checkpoint_writes.h"
#include "session/fingerprint.h"
#include "session/guard.h"
#include "session/refusal.h"
#include "session/sessions.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast {

absl::StatusOr<CheckpointResult> Sessions::PutCheckpoint(const Caller& caller,
                                                         const PutCheckpointCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  const SessionKey key{caller.tenant, command.session};
  CheckpointResult put;
  const auto decide = [&](const Head& head) -> absl::StatusOr<Decision> {
    if (auto refusal = CheckGuard(head, GuardOf(command), {})) return refusal->ToStatus();
    ASSIGN_OR_RETURN(const CheckpointTarget target, ReadTarget(store_, key, head, command));
    put.checkpoint = target.checkpoint;
    return Decide(head, caller, command, target);
  };
  const Asked asked{.id = command.request, .stamp = [&] { return StampOf(command); }};
  ASSIGN_OR_RETURN(put.result, Execute(key, asked, decide));
  const Revision revision =
      put.result.repeated ? put.result.receipt.snapshot : put.checkpoint.revision();
  // As it is by now. The call has acted, whatever becomes of this read.
  const absl::StatusOr<std::vector<Checkpoint>> there = ReadCheckpointsAt(store_, key, revision);
  put.checkpoint = Checkpoint();
  if (there.ok()) {
    const auto found = std::ranges::find(*there, CheckpointKind::kManual, &Checkpoint::kind);
    if (found != there->end()) put.checkpoint = *found;
  }
  put.checkpoint.snapshot.record.at.revision = revision;
  return put;
}

absl::StatusOr<MutationResult> Sessions::DeleteCheckpoint(const Caller& caller,
                                                          const DeleteCheckpointCommand& command) {
  RETURN_IF_ERROR(CheckCommand(secrets_, command));
  const SessionKey key{caller.tenant, command.session};
  const auto decide = [&](const Head& head) -> absl::StatusOr<Decision> {
    if (auto refusal = CheckGuard(head, GuardOf(command), {})) return refusal->ToStatus();
    ASSIGN_OR_RETURN(const std::vector<Checkpoint> there, ReadTarget(store_, key, command));
    return Decide(head, caller, command, there);
  };
  const Asked asked{.id = command.request, .stamp = [&] { return StampOf(command); }};
  return Execute(key, asked, decide);
}

absl::StatusOr<MutationResult> Sessions::NameTheCheckpoint(
    const SessionKey& key, const std::optional<CheckpointMark>& mark,
    absl::StatusOr<MutationResult> result) {
  // Nothing else in such a change has a condition on an item.
  if (!mark || !Is(result.status(), Reason::kStaleRevision)) return result;
  const Refusal refusal = RefusalOf(result.status());
  const auto what = refusal.facts().find("what");
  if (what == refusal.facts().end() || what->second != "item") return result;
  ASSIGN_OR_RETURN(const std::optional<Revision> revision,
                   ReadCheckpointNamed(store_, key, mark->name));
  if (!revision) {
    return StoreUnavailable("the session is changing too fast: try again", Fate::kNoEffect);
  }
  return CheckpointNameTaken("checkpoint.name", *revision);
}

}  // namespace holdfast
