// What a write without a turn builds on.
#ifndef HOLDFAST_SESSION_HISTORY_BASE_H_
#define HOLDFAST_SESSION_HISTORY_BASE_H_

#include "session/change.h"
#include "session/commands.h"
#include "session/head.h"

#include "absl/status/status.h"

namespace holdfast {

// Puts the messages by which `command` extends or replaces the history of `head` into `change`.
// STALE_REVISION(what=history) for a base that is not the stored history; INVALID_FIELD for a whole
// history of a leased session that does not begin with the stored one.
absl::Status TakeHistory(const Head& head, const WriteCommand& command, Change& change);

// STALE_REVISION(what=history) for a base that is not the history of `head`.
absl::Status CheckBase(const Head& head, const HistoryBase& base);

// Of several writers to an open session none may undo what it has not seen: all but messages that
// follow the history, whatever that is, or that are taken from its end, must say what they build
// on. OK if `says` is true, if the change does only that (`at_end`), and in a leased session, which
// has one writer. INVALID_FIELD otherwise.
absl::Status CheckBuildsOn(const Head& head, bool says, bool at_end);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_HISTORY_BASE_H_
