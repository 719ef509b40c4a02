// Spans whose ids follow from the session itself: that of a turn, which may begin at one server and
// end at another, and that of a transition, which later spans link to.
#ifndef HOLDFAST_SERVER_TELEMETRY_TURN_SPAN_H_
#define HOLDFAST_SERVER_TELEMETRY_TURN_SPAN_H_

#include "server/telemetry/span.h"
#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// The id of the span of turn `turn` of the session: 16 hexadecimal digits, the same at every
// server.
std::string TurnSpanId(const SessionUid& session, TurnNumber turn);

// The id of the span of the transition that led to `revision`; likewise.
std::string TransitionSpanId(const SessionUid& session, Revision revision);

// The span of the turn that `change` has ended, for the server that ended it to export. It lasts
// from the turn's begin to its end by the store's clock, is of the trace and below the span of the
// call that began the turn, and links to the turn before. nullopt when `change` ends no turn, or
// the begin of the turn was not recorded. `after` is what the change, which was applied, has left.
std::optional<Span> TurnSpanOf(const Change& change, const Head& after);

// Links of a transition to the turn that it ended, and where it took the session up again to the
// change that wrote the last snapshot. Those that were not recorded are left out.
std::vector<SpanLink> TransitionLinks(const Change& change, const Head& after);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_TURN_SPAN_H_
