// Uploads on PostgreSQL: rows of chunks, each kept by a transaction of its own and without the
// session's lock.
#ifndef HOLDFAST_STORE_POSTGRES_UPLOADS_H_
#define HOLDFAST_STORE_POSTGRES_UPLOADS_H_

#include "platform/digest.h"
#include "session/change.h"
#include "session/ids.h"
#include "session/model.h"
#include "store-postgres/database.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::pg {

// Any thread may call; the chunks of one upload come one after the other.
class Uploads {
 public:
  // `database` outlives it.
  explicit Uploads(const Database& database) : database_(database) {}

  // As SessionStore::StageUpload.
  absl::Status Stage(const SessionKey& key, const UploadId& upload, uint64_t offset,
                     std::string_view bytes);
  // As SessionStore::DropUpload.
  absl::Status Drop(const SessionKey& key, const UploadId& upload);
  // Whether what is staged is what `link` says. Reads it all, unless this server has staged it all.
  absl::StatusOr<bool> Holds(const SessionKey& key, const UploadLink& link);
  // As SessionStore::ReadStaged.
  absl::StatusOr<std::string> Read(const SessionKey& key, const StagedBytes& bytes, uint64_t offset,
                                   size_t count);
  // Frees what is remembered of an upload that was linked.
  void Forget(const SessionKey& key, const UploadId& upload);
  // Deletes uploads that no change has linked for a long time.
  absl::Status Sweep();

 private:
  using Name = std::pair<SessionKey, UploadId>;
  // The digest of what this server has staged from the first byte on.
  struct Running {
    uint64_t bytes = 0;
    std::unique_ptr<Sha256Stream> digest;
  };

  absl::Status StageChunk(const SessionKey& key, const UploadId& upload, uint64_t offset,
                          std::string_view bytes);
  void NoteStaged(const Name& name, uint64_t offset, std::string_view bytes);
  std::optional<Digest> Known(const Name& name, uint64_t bytes);

  const Database& database_;
  absl::Mutex mutex_;
  absl::flat_hash_map<Name, Running> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_UPLOADS_H_
