// The stored reply of a request, wherever it stands.
#ifndef HOLDFAST_STORE_FS_STORED_REQUEST_H_
#define HOLDFAST_STORE_FS_STORED_REQUEST_H_

#include "session/change.h"
#include "session/ids.h"
#include "store-fs/contents.h"
#include "store-fs/files.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <optional>

namespace holdfast::fs {

// The row of request `id` of session `key`; nullopt when there is none, or it is older than
// `oldest`. Reads one item of a segment when it is not among the newest, and the first time the ids
// of every segment, whose replies it leaves alone. DAMAGED when it is not what was written,
// UNAVAILABLE when the disk would not say. Under the session's lock, or by whoever leads it.
absl::StatusOr<std::optional<RequestRow>> ReadRequest(Files& files, const SessionKey& key,
                                                      const Contents& contents, const RequestId& id,
                                                      absl::Time oldest);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_STORED_REQUEST_H_
