// Reads the stored reply of a request, from the table, the journal or a sealed log.
#ifndef HOLDFAST_STORE_FS_STORED_REQUEST_H_
#define HOLDFAST_STORE_FS_STORED_REQUEST_H_

#include "session/change.h"
#include "session/ids.h"
#include "store-fs/files.h"
#include "store-fs/numbered_log.h"
#include "store-fs/request_table.h"
#include "store-fs/session_state.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace holdfast::fs {

// What is needed of a session to read a stored reply without its lock.
struct RequestView {
  std::shared_ptr<RequestTable> requests;
  NumberedLog log;   // without the rows in the journal, which the table has
  uint64_t end = 0;  // the number behind the newest row

  // Whether the same files hold the replies of `other`.
  [[nodiscard]] bool HasFilesOf(const RequestView& other) const;
};

// Called under the session's lock or by its leader; makes no I/O.
RequestView ViewOf(const SessionState& state);

// What a view is read with.
struct RequestSource {
  Files& files;
  const SessionKey& key;
  const RequestView& view;
  // Whether the session still has the view's files; unset where they cannot be replaced meanwhile,
  // as for the session's leader.
  std::function<bool()> is_current;
};

// The row of request `id`; nullopt when there is none, or it is older than `oldest`. Reads one item
// of a sealed log when it is not among the newest, and the first time the ids of every segment,
// whose replies it leaves alone. DAMAGED when it is not what was written, UNAVAILABLE when the disk
// would not say, ABORTED when the view is older than what it names: make another one. Without the
// session's lock.
absl::StatusOr<std::optional<RequestRow>> ReadRequest(const RequestSource& source,
                                                      const RequestId& id, absl::Time oldest);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_STORED_REQUEST_H_
