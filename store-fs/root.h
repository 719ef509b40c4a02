// The root of a store: its owner, its lock against a second serving process, and whether it is
// still at the place where it was made.
#ifndef HOLDFAST_STORE_FS_ROOT_H_
#define HOLDFAST_STORE_FS_ROOT_H_

#include "platform/clock.h"
#include "session/ids.h"
#include "store-fs/files.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::fs {

inline constexpr char kTmp[] = "tmp";
inline constexpr char kSessions[] = "t";
// What STORE says of durability.
inline constexpr char kBySync[] = "sync";
inline constexpr char kByInterval[] = "interval";

// What the file STORE says.
struct RootRecord {
  StoreId store;
  Incarnation incarnation;
  uint64_t inode = 0;
  int64_t birth_ns = 0;
  std::string durability;
  bool clean = false;                   // the last run ended in order
  absl::Time time = absl::UnixEpoch();  // the store's, as far as it was recorded (store_time.h)
};

// The lock of the serving process; freed when it goes away, however that happens.
class RootLock {
 public:
  explicit RootLock(int fd) : fd_(fd) {}
  RootLock(const RootLock&) = delete;
  RootLock& operator=(const RootLock&) = delete;
  ~RootLock();

 private:
  const int fd_;
};

struct RootOptions {
  std::string path;  // absolute
  std::string durability;
  bool allow_network_file_system = false;
  bool adopt = false;       // take over a copied or restored root: raises the incarnation
  FilesWrapper wrap_files;  // tests: a faulty seam
};

struct Root {
  std::unique_ptr<RootLock> lock;
  std::unique_ptr<Files> files;
  RootRecord record;
  bool was_clean = false;
  bool moved = false;  // it was copied or restored, and has just been adopted
  // A run with durability by interval did not end in order: of any journal several of the last
  // frames may be torn. STORE says "interval" until WriteRootRecord changes it.
  bool unsynced = false;
  // There was no space for what a start writes: FinishOpening must have succeeded before anything
  // of a session is written.
  bool is_put_off = false;
};

// Makes the root if it is missing, locks it, verifies that it is ours and writable, and cleans
// tmp/. STORE_UNAVAILABLE with words that a person can act on: in use by another process (which
// one), accessible to others, not ours, on a network or case-folding file system, copied or
// restored, not writable. A root without space is opened.
absl::StatusOr<Root> OpenRoot(const RootOptions& options, Random& random);

// Writes what the start had no space for. RESOURCE_EXHAUSTED when there is none yet.
absl::Status FinishOpening(const RootOptions& options, Root& root);

// Writes `bytes` bytes under a name of its own, syncs them and takes them away. STORAGE_FULL or
// STORE_UNAVAILABLE in words that a person can act on.
absl::Status ProbeRoot(Files& files, const std::string& name, size_t bytes);

// Replaces the file `name` of the root durably, through tmp/.
absl::Status ReplaceRootFile(Files& files, const std::string& name, std::string_view bytes);

// Replaces the file STORE durably.
absl::Status WriteRootRecord(Files& files, const RootRecord& record);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_ROOT_H_
