// Changes that create the session that they write to.
#include "session/checkpoint_writes.h"
#include "session/compaction.h"
#include "session/decide.h"
#include "session/fingerprint.h"

#include <optional>

namespace holdfast {

std::optional<Change> DecideCreate(const Caller& caller, const SessionKey& key,
                                   const WriteCommand& command, const Fresh& fresh) {
  const bool builds_on_nothing =
      !command.expected_revision && (!command.base || command.base->count == MessageSeq());
  if (!command.create_if_missing || !builds_on_nothing) return std::nullopt;
  CreateCommand create = *command.create_if_missing;
  create.messages = command.messages;
  create.slots = command.slots;
  if (command.sm) create.sm = *command.sm;
  Change change = DecideCreate(caller, key, create, StampOf(command), fresh);
  if (command.compaction) AddCompaction(Head(), *command.compaction, change);
  if (command.checkpoint && !PinThisSnapshot(Head(), *command.checkpoint, change).ok()) {
    return std::nullopt;
  }
  return change;
}

}  // namespace holdfast
