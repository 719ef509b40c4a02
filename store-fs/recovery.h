// Opening a session: reading its manifest, head and journal, and finishing what a crash cut (STORES
// section 2, "Recovery").
#ifndef HOLDFAST_STORE_FS_RECOVERY_H_
#define HOLDFAST_STORE_FS_RECOVERY_H_

#include "session/clock.h"
#include "session/ids.h"
#include "store-fs/contents.h"
#include "store-fs/files.h"
#include "store-fs/manifest.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::fs {

// An open journal.log.
struct Journal {
  std::shared_ptr<File> file;
  uint64_t inode = 0;
  uint64_t end = 0;        // where the next frame begins
  uint64_t allocated = 0;  // bytes that are there, zeros included
  uint32_t last_checksum = 0;
};

// A session as it lies on the disk, ready to be served.
struct Opened {
  Manifest manifest;
  Contents contents;
  Journal journal;
};

// What a reader of the disk needs to know of its store.
struct StoreIdentity {
  StoreId store;
  Incarnation incarnation;
  bool unsynced = false;  // several frames may be torn: recovery cuts at the first that fails
};

// "t/<tenant>/<session>".
std::string DirectoryOf(const SessionKey& key);

// Opens the session in the directory of `key`. SESSION_NOT_FOUND when there is none;
// RESUME_MISMATCH, MANIFEST_DRIFT or DAMAGED as STORES says, with nothing written; UNAVAILABLE (no
// refusal) when the disk fails, after which the store must stop.
absl::StatusOr<Opened> RecoverSession(Files& files, const SessionKey& key,
                                      const StoreIdentity& identity);

// The same for a row of a listing: nothing is repaired and no file stays open.
absl::StatusOr<Head> PeekSession(Files& files, const SessionKey& key,
                                 const StoreIdentity& identity);

// The bytes of a new journal: its start frame, which names the rotation that it follows.
std::string NewJournal(const Manifest& manifest, uint32_t* checksum);

// Replaces journal.log by an empty one with the manifest's salt (step 3 of a rotation).
absl::StatusOr<Journal> ReplaceJournal(Files& files, const SessionKey& key,
                                       const Manifest& manifest);

// Removes what nothing names (step 4).
absl::Status RemoveUnnamed(Files& files, const SessionKey& key, const Contents& contents,
                           uint64_t file);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_RECOVERY_H_
