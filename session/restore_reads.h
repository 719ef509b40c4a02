// What a restore reads of a session's past before it is decided.
#ifndef HOLDFAST_SESSION_RESTORE_READS_H_
#define HOLDFAST_SESSION_RESTORE_READS_H_

#include "session/checkpoint.h"
#include "session/commands.h"
#include "session/head.h"
#include "session/model.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

struct RestoredState {
  Revision to;                    // the point's
  HistoryCut cut;                 // that the history begins with
  std::vector<Message> copied;    // what follows it there: stored again, so that spans stay few
  uint64_t removed_messages = 0;  // that the history has now, and then no more
  std::vector<Message> removed;   // of these, the last ones, kReturnedBytes at most
  std::vector<Slot> slots;        // those that differ, as they were
  std::vector<std::string> deleted_slots;
  std::optional<std::optional<StateMachineRef>> sm;  // if it differs
  bool is_current = false;                           // nothing differs
};

// Reads what `command` restores in the session `head`. INVALID_FIELD for a point behind its
// history; RECORD_NOT_FOUND for a checkpoint that is not there; REVISION_AHEAD, REVISION_PRUNED;
// TOO_LARGE when it has more bytes than a change; DAMAGED; errors of the store. If the session has
// moved on, it may be of a later state.
absl::StatusOr<RestoredState> ReadRestoredState(SessionStore& store, const SessionKey& key,
                                                const Head& head, const RestoreCommand& command);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_RESTORE_READS_H_
