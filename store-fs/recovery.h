// Opening a session: reading its manifest, head and journal, and finishing what a crash interrupted
// (docs/formats.md).
#ifndef HOLDFAST_STORE_FS_RECOVERY_H_
#define HOLDFAST_STORE_FS_RECOVERY_H_

#include "platform/clock.h"
#include "session/ids.h"
#include "store-fs/bounds.h"
#include "store-fs/files.h"
#include "store-fs/manifest.h"
#include "store-fs/session_state.h"
#include "store-fs/watermarks.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::fs {

// An open journal.log.
struct Journal {
  std::shared_ptr<File> file;
  FileIdentity identity;
  uint64_t end = 0;        // where the next frame begins
  uint64_t allocated = 0;  // bytes that are there, zeros included
  uint32_t last_checksum = 0;
  // All it holds is in the files of a rotation, and there was no space for the next journal: that
  // one must be made before anything is written.
  bool covered = false;
};

// A session as it lies on the disk, ready to be served.
struct StoredSession {
  Manifest manifest;
  SessionState state;
  Journal journal;
};

// What a reader of the disk needs to know of its store.
struct StoreIdentity {
  StoreId store;
  Incarnation incarnation;
  bool unsynced = false;  // several frames may be torn: recovery cuts at the first that fails
  Bounds bounds;
};

// "t/<tenant>/<session>".
std::string DirectoryOf(const SessionKey& key);

// Opens the session in the directory of `key`. SESSION_NOT_FOUND when there is none;
// RESUME_MISMATCH, MANIFEST_DRIFT or DAMAGED, with nothing written, when its files are another
// store's or are not what was written; UNAVAILABLE (no refusal) when the disk fails, after which
// the store must stop. DAMAGED too when the journal that `mark` is of, if any, ends before it or
// leaves an earlier revision.
absl::StatusOr<StoredSession> RecoverSession(Files& files, const SessionKey& key,
                                             const StoreIdentity& identity,
                                             const std::optional<Watermark>& mark = std::nullopt);

// The same for a row of a listing: nothing is repaired and no file stays open.
absl::StatusOr<Head> PeekSession(Files& files, const SessionKey& key, const StoreIdentity& identity,
                                 const std::optional<Watermark>& mark = std::nullopt);

// The manifest in the directory of `key`. SESSION_NOT_FOUND when there is none; RESUME_MISMATCH,
// MANIFEST_DRIFT or DAMAGED when it is not what this store wrote; no refusal when the disk fails.
absl::StatusOr<Manifest> ReadManifest(Files& files, const SessionKey& key, const StoreId& store);

// What head.<g> of a manifest says, of at most `most` bytes; an empty state when it names none.
// DAMAGED when it is missing or not what was written.
absl::StatusOr<SessionState> ReadHeadFile(Files& files, const SessionKey& key,
                                          const Manifest& manifest, size_t most);

// Replaces journal.log by an empty one with the manifest's salt (step 3 of a rotation). A lack
// (IsLack) leaves the one that is there.
absl::StatusOr<Journal> ReplaceJournal(Files& files, const SessionKey& key,
                                       const Manifest& manifest);

// Removes what nothing names (step 4). What a lack leaves there is removed by the next rotation.
absl::Status RemoveUnnamed(Files& files, const SessionKey& key, const SessionState& state,
                           uint64_t file);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_RECOVERY_H_
