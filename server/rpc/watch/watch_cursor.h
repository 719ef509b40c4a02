// Where a watch goes on, as a text that is opaque to clients. It is bound to tenant, session, its
// creation, the store and the store's incarnation.
#ifndef HOLDFAST_SERVER_RPC_WATCH_WATCH_CURSOR_H_
#define HOLDFAST_SERVER_RPC_WATCH_WATCH_CURSOR_H_

#include "session/ids.h"
#include "session/store.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace holdfast {

// The cursors of one session. Any thread may call.
class WatchCursors {
 public:
  WatchCursors(const StoreDescription& store, const SessionKey& key, const SessionUid& uid);

  // The cursor behind event `last`.
  [[nodiscard]] std::string Make(EventSeq last) const;
  // The event behind which to go on. INVALID_FIELD cursor: damaged or made up; of another session
  // or store; or from before the store was restored (why=restored). FENCED for one of a session of
  // this id that was deleted.
  [[nodiscard]] absl::StatusOr<EventSeq> Read(const std::string& cursor) const;

 private:
  std::string bound_to_;
  std::string session_;
  uint64_t incarnation_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_WATCH_CURSOR_H_
