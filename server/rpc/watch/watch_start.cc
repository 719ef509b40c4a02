#include "server/rpc/watch/watch_start.h"

#include "platform/status_macros.h"
#include "server/rpc/convert/fields.h"
#include "session/guard.h"
#include "session/refusal.h"

#include <utility>

namespace holdfast {

absl::StatusOr<WatchStart> ReadWatchStart(Sessions& sessions, const Caller& caller,
                                          const pb::WatchSessionRequest& request) {
  SessionKey key;
  ASSIGN_OR_RETURN(key.session, ReadId<SessionId>("session_id", request.session_id()));
  key.tenant = caller.tenant;
  ASSIGN_OR_RETURN(const Head head, sessions.Get(caller, key.session));
  ASSIGN_OR_RETURN(const std::optional<SessionUid> uid, ReadSessionUid(request));
  RETURN_IF_ERROR(CheckSameSession(head.uid, uid));
  WatchCursors cursors(sessions.store().Describe(), key, head.uid);
  EventSeq after(request.after_seq());
  if (request.has_cursor()) {
    ASSIGN_OR_RETURN(after, cursors.Read(request.cursor()));
  }
  if (after > head.last_event) {
    return Refusal(Reason::kRevisionAhead, "the session has fewer events than you know")
        .With("what", "event")
        .With("known", after.value())
        .With("stored", head.last_event.value());
  }
  return WatchStart{.key = std::move(key),
                    .uid = head.uid,
                    .cursors = std::move(cursors),
                    .after = after,
                    .newest = head.last_event};
}

}  // namespace holdfast
