// The spans of a change below that of its call: what the store took for it, and the transition of
// the session that it made.
#ifndef HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_
#define HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_

#include "server/telemetry/tracer.h"
#include "session/sessions.h"

#include <string>

namespace holdfast {

// Around each change that the domain hands to the store: a span `store.Commit`, and where the
// change was applied and has a lifecycle that it leads to, a span `session.transition`. Neither for
// a call that is not recorded. `tracer` must outlive it; `store_kind` is as in StoreDescription.
Sessions::AroundCommit CommitSpans(Tracer& tracer, const std::string& store_kind);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_COMMIT_SPANS_H_
