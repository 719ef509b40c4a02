// WatchSession without its transport: the events of one session behind a start, page by page.
#ifndef HOLDFAST_SERVER_RPC_WATCH_READER_H_
#define HOLDFAST_SERVER_RPC_WATCH_READER_H_

#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/watch_cursor.h"
#include "session/sessions.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

namespace pb = ::holdfast::v1;

// Holds no events. Used by one thread at a time; Open and Next block as the store does.
class WatchReader {
 public:
  struct Page {
    std::vector<pb::WatchSessionResponse> messages;
    bool end = false;   // reaches the newest event
    bool last = false;  // the session was deleted: nothing follows for ever
  };

  // `sessions` must outlive this.
  WatchReader(Sessions& sessions, Caller caller, pb::WatchSessionRequest request);

  // Judges the request; called once, first. INVALID_FIELD for its fields, REVISION_AHEAD for a
  // start behind the newest event, otherwise as a load of the session.
  absl::Status Open();
  // The events behind the last page. EVENTS_COMPACTED when they are no longer kept; TOMBSTONED when
  // the session was deleted and more than its last event was not read yet; otherwise as the store's
  // reads.
  absl::StatusOr<Page> Next();

  // A progress message behind the last page.
  [[nodiscard]] pb::WatchSessionResponse Progress() const;
  // The cursor behind the last page.
  [[nodiscard]] std::string Cursor() const { return cursors_->Make(after_); }
  // The session that is watched.
  [[nodiscard]] const SessionKey& key() const { return key_; }

 private:
  absl::StatusOr<EventSeq> ReadStart() const;
  absl::StatusOr<Page> Farewell(const absl::Status& tombstoned);
  void Add(const Event& event, Page& page);

  Sessions& sessions_;
  const Caller caller_;
  const pb::WatchSessionRequest request_;
  SessionKey key_;
  std::optional<WatchCursors> cursors_;
  EventSeq after_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_READER_H_
