// Reconciles the listing with the directories on the disk. Start opens no session; the scanner runs
// beside the service and declares the listing complete at its end.
#ifndef HOLDFAST_STORE_FS_DIRECTORY_SCANNER_H_
#define HOLDFAST_STORE_FS_DIRECTORY_SCANNER_H_

#include "platform/exceptions.h"
#include "session/ids.h"
#include "store-fs/environment.h"
#include "store-fs/listing.h"
#include "store-fs/session_table.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holdfast::fs {

class DirectoryScanner {
 public:
  DirectoryScanner(Environment& environment, SessionTable& sessions, Listing& listing)
      : environment_(environment),
        sessions_(sessions),
        listing_(listing),
        guard_("directory scanner", environment.note) {}

  // Finishes removals that a crash interrupted. Called once, before the store serves calls.
  absl::Status FinishDeletes();
  // Looks at every session once, then declares the listing complete; where something could not be
  // looked at, Compare does once it can. `rows_of_ns`, when there were
  // rows before: when they were written, so that only what was changed since is looked at. Opens
  // each, which makes what survived durable, where frames may be unsynced.
  void Run(const std::stop_token& stop, std::optional<int64_t> rows_of_ns);
  // Compares the names on the disk with the listing: unknown ones are looked at, vanished ones
  // leave it.
  void Compare();
  // Directories of deleted sessions that are there again, at most `most`.
  std::vector<SessionKey> Reappeared(size_t most);

 private:
  // False when something could not be looked at. A tenant whose comparison throws counts as such.
  bool CompareAll(const std::stop_token& stop, std::optional<int64_t> rows_of_ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool CompareTenant(const TenantId& tenant, const std::stop_token& stop,
                     std::optional<int64_t> rows_of_ns);
  [[nodiscard]] bool ChangedSince(const SessionKey& key, int64_t moment_ns) const;
  // Whether the directory that is there is of the session that was created in the deleted one's
  // place.
  [[nodiscard]] bool IsReplaced(const Tombstone& tombstone) const;
  bool Scan(const SessionKey& key);
  // The same; a session whose files cannot be looked at without an exception is shown as damaged.
  bool ScanGuarded(const SessionKey& key);

  Environment& environment_;
  SessionTable& sessions_;
  Listing& listing_;
  LoopGuard guard_;
  absl::Mutex mutex_;                         // one comparison at a time
  bool run_ ABSL_GUARDED_BY(mutex_) = false;  // Run has been called, with:
  std::optional<int64_t> rows_of_ns_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_DIRECTORY_SCANNER_H_
