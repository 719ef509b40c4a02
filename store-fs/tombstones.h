// tombstones.log: the sessions that were deleted. A tombstone is the switch of a delete, and holds
// until a session that names it is created in its place.
#ifndef HOLDFAST_STORE_FS_TOMBSTONES_H_
#define HOLDFAST_STORE_FS_TOMBSTONES_H_

#include "session/head.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-fs/files.h"
#include "store-fs/store_time.h"
#include "store-fs/watermarks.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fs {

inline constexpr char kTombstonesFile[] = "tombstones.log";

struct Tombstone {
  SessionKey key;
  SessionUid uid;
  Revision revision;
  Event last_event;                  // of a record of version 1: number, name and revision alone
  std::optional<RequestId> request;  // of the delete
  Generation generation;             // of its last history
  bool removed = false;              // its directory is gone
  // The session that was created in its place, once a directory of that one is there.
  std::optional<SessionUid> next;

  [[nodiscard]] FormerSession former() const { return {.uid = uid, .generation = generation}; }
};

// Any thread may call.
class Tombstones {
 public:
  // Reads the log, or starts it. An unfinished last record is cut; anything else that fails its
  // checksum is STORE_UNAVAILABLE, and so is a log that ends before its watermark, since no deleted
  // session may come back. `watermarks` and `time` outlive this.
  static absl::StatusOr<std::unique_ptr<Tombstones>> Open(Files& files, Watermarks& watermarks,
                                                          const StoreTime& time);

  std::optional<Tombstone> Find(const SessionKey& key);
  // Durable, then visible. RESOURCE_EXHAUSTED, with nothing changed, when there is no space.
  absl::Status Add(const Tombstone& tombstone);
  // Notes that the directory is gone. A lost note only means that the removal is looked for again.
  absl::Status NoteRemoved(const SessionKey& key);
  // Those whose directory may still be there.
  std::vector<Tombstone> Unfinished();

  // Bytes of an unfinished record that Open has cut.
  [[nodiscard]] uint64_t cut() const { return cut_; }

  // For Open alone.
  Tombstones(std::unique_ptr<File> file, Watermarks& watermarks, const StoreTime& time)
      : file_(std::move(file)), watermarks_(watermarks), time_(time) {}

 private:
  absl::Status Load();
  // Takes the log's end for one append, which runs without the lock: records must not interleave.
  void BeginAppend() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Appends and shows `tombstone`; then the next append may begin.
  absl::Status FinishAppend(const Tombstone& tombstone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Called between these two alone.
  absl::Status Append(const Tombstone& tombstone);
  [[nodiscard]] bool IsFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !appending_; }

  absl::Mutex mutex_;
  const std::unique_ptr<File> file_;
  Watermarks& watermarks_;
  const StoreTime& time_;
  uint64_t cut_ = 0;
  bool appending_ ABSL_GUARDED_BY(mutex_) = false;
  // The appending thread's alone.
  uint64_t end_ = 0;
  uint32_t last_checksum_ = 0;
  absl::flat_hash_map<SessionKey, Tombstone> by_key_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_TOMBSTONES_H_
