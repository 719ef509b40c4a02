// The end of a deletion, behind its tombstone: the session's directory goes. And which session's
// directory is in its place.
#ifndef HOLDFAST_STORE_FS_DELETED_SESSION_H_
#define HOLDFAST_STORE_FS_DELETED_SESSION_H_

#include "session/ids.h"
#include "store-fs/environment.h"
#include "store-fs/tombstones.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast::fs {

// The uid of the session whose directory lies at the place of `key`. Errors: those of reading its
// manifest, and of DecodeManifest.
absl::StatusOr<SessionUid> UidInPlace(const Environment& environment, const SessionKey& key);

// Removes the directory of a session whose tombstone is `tombstone`, and notes that.
absl::Status RemoveDirectory(Environment& environment, const Tombstone& tombstone);

// The same for a directory that may be gone already. One of another session that came later is
// kept. A manifest that cannot be read is an error, unless there is none or it is not whole.
absl::Status FinishRemoval(Environment& environment, const Tombstone& tombstone);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_DELETED_SESSION_H_
