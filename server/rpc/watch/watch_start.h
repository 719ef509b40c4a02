// Where a watch begins: the request of WatchSession, checked.
#ifndef HOLDFAST_SERVER_RPC_WATCH_WATCH_START_H_
#define HOLDFAST_SERVER_RPC_WATCH_WATCH_START_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/watch/watch_cursor.h"
#include "session/sessions.h"

#include "absl/status/statusor.h"

namespace holdfast {

namespace pb = ::holdfast::v1;

struct WatchStart {
  SessionKey key;
  SessionUid uid;  // of the session that is watched
  WatchCursors cursors;
  EventSeq after;   // the events behind this one are wanted
  EventSeq newest;  // of the session, at the time of the check
};

// INVALID_FIELD for the request's fields, REVISION_AHEAD for a start behind the newest event,
// otherwise as a load of the session. Blocks as the store does.
absl::StatusOr<WatchStart> ReadWatchStart(Sessions& sessions, const Caller& caller,
                                          const pb::WatchSessionRequest& request);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_WATCH_START_H_
