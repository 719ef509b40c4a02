#include "server/rpc/watch_reader.h"

#include "server/rpc/convert_fields.h"
#include "server/rpc/convert_session.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "session/saboteur.h"
#include "session/status_macros.h"

#include <utility>

namespace holdfast {

WatchReader::WatchReader(Sessions& sessions, Caller caller, pb::WatchSessionRequest request)
    : sessions_(sessions), caller_(std::move(caller)), request_(std::move(request)) {}

absl::Status WatchReader::Open() {
  ASSIGN_OR_RETURN(key_.session, ReadId<SessionId>("session_id", request_.session_id()));
  key_.tenant = caller_.tenant;
  ASSIGN_OR_RETURN(const Head head, sessions_.Get(caller_, key_.session));
  cursors_.emplace(sessions_.store().Describe(), key_, head.uid);
  ASSIGN_OR_RETURN(after_, ReadStart());
  if (after_ <= head.last_event) return absl::OkStatus();
  return Refusal(Reason::kRevisionAhead, "the session has fewer events than you know")
      .With("what", "event")
      .With("known", after_.value())
      .With("stored", head.last_event.value());
}

absl::StatusOr<EventSeq> WatchReader::ReadStart() const {
  if (request_.has_cursor()) return cursors_->Read(request_.cursor());
  return EventSeq(request_.after_seq());
}

absl::StatusOr<WatchReader::Page> WatchReader::Next() {
  absl::StatusOr<EventPage> read = sessions_.store().ReadEvents(
      key_, after_, {.items = kWatchPageItems, .bytes = kWatchPageBytes});
  if (Is(read.status(), Reason::kTombstoned)) return Farewell(read.status());
  RETURN_IF_ERROR(read.status());
  if (Sabotaged(Saboteur::kSkipEvent) && read->events.size() > 1) {
    read->events.erase(read->events.begin());
  }
  Page page{.end = read->end};
  for (const Event& event : read->events) Add(event, page);
  return page;
}

absl::StatusOr<WatchReader::Page> WatchReader::Farewell(const absl::Status& tombstoned) {
  ASSIGN_OR_RETURN(const Event last, sessions_.store().ReadLastEvent(key_));
  if (last.seq != after_.Next()) {
    // What came before it is gone with the session: better no end than a gap.
    Refusal refusal = RefusalOf(tombstoned);
    refusal.Add("last_event", std::to_string(last.seq.value()));
    return refusal;
  }
  Page page{.end = true, .last = true};
  Add(last, page);
  return page;
}

void WatchReader::Add(const Event& event, Page& page) {
  after_ = event.seq;
  pb::WatchSessionResponse& message = page.messages.emplace_back();
  Write(event, *message.mutable_event());
  message.set_cursor(Cursor());
}

pb::WatchSessionResponse WatchReader::Progress() const {
  pb::WatchSessionResponse message;
  message.mutable_progress()->set_last_seq(after_.value());
  message.set_cursor(Cursor());
  return message;
}

}  // namespace holdfast
