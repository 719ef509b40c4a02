// Uploads that no change has linked yet: files of tmp/, so that none of them outlives the process.
//
// An upload's file consists of blocks, each with a checksum of its own, because it is read from
// anywhere (docs/formats.md).
#ifndef HOLDFAST_STORE_FS_UPLOADS_H_
#define HOLDFAST_STORE_FS_UPLOADS_H_

#include "platform/clock.h"
#include "platform/digest.h"
#include "session/change.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-fs/files.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::fs {

// Any thread may call. Errors other than refusals are the disk's: nothing is known then.
class Uploads {
 public:
  // Both must outlive this.
  Uploads(Files& files, const Clock& clock) : files_(files), clock_(clock) {}

  // See SessionStore::StageUpload. The bytes are durable when this is OK; the name is not until
  // TakeOver. RESOURCE_EXHAUSTED when there is no space.
  absl::Status Stage(const SessionKey& key, const UploadId& id, uint64_t offset,
                     std::string_view bytes);
  absl::Status Drop(const SessionKey& key, const UploadId& id);
  // Whether all that `link` says is here, and of `key`.
  [[nodiscard]] bool Holds(const SessionKey& key, const UploadLink& link);
  // Moves the file to `path`, whose directory the caller syncs, and forgets it.
  absl::Status TakeOver(const UploadId& id, const std::string& path);
  // Drops what got no chunk for `quiet`.
  absl::Status Sweep(absl::Duration quiet);

 private:
  // One upload; its own mutex, since the disk is slow and uploads are many.
  struct Upload {
    explicit Upload(SessionKey whose) : key(std::move(whose)) {}
    const SessionKey key;
    absl::Mutex mutex;
    std::unique_ptr<File> file ABSL_GUARDED_BY(mutex);
    uint64_t bytes ABSL_GUARDED_BY(mutex) = 0;
    Sha256Stream sum ABSL_GUARDED_BY(mutex);
    std::string tail ABSL_GUARDED_BY(mutex);  // of the last block, which is not full yet
    absl::Duration touched ABSL_GUARDED_BY(mutex);
  };

  absl::Status Write(const UploadId& id, std::string_view bytes, Upload& upload)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(upload.mutex);
  std::shared_ptr<Upload> Find(const UploadId& id);
  std::shared_ptr<Upload> FindOrAdd(const SessionKey& key, const UploadId& id);
  void Forget(const UploadId& id);

  Files& files_;
  const Clock& clock_;
  absl::Mutex mutex_;
  absl::flat_hash_map<UploadId, std::shared_ptr<Upload>> uploads_ ABSL_GUARDED_BY(mutex_);
};

// Up to `count` bytes of an upload from `offset` on, checked. DATA_LOSS when they are not what was
// staged, or not there.
absl::StatusOr<std::string> ReadBlocks(File& file, uint64_t offset, size_t count);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_UPLOADS_H_
