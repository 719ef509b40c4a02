// What cancel marks mean for a session.
#ifndef HOLDFAST_SESSION_MARKS_H_
#define HOLDFAST_SESSION_MARKS_H_

#include "session/head.h"
#include "session/model.h"

#include "absl/time/time.h"

#include <cstddef>

namespace holdfast {

// The first mark of the session as a whole; nullptr when there is none.
const CancelMark* SessionMark(const Head& head);

// The first mark that asks for the end of the session, or of its active turn; nullptr when there is
// none, and for a closed session.
const CancelMark* EndingMark(const Head& head);

// True when a mark like this one is there already.
bool HasMark(const Head& head, const CancelMark& mark);

// How many marks only inform: those of stages and tools.
size_t InformingMarks(const Head& head);

// True when the server must end what is marked: a session without an active turn at once, a turn
// when it has stood under the mark for `grace`.
bool EndIsDue(const Head& head, absl::Duration marked_for, absl::Duration grace);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_MARKS_H_
