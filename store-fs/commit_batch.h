// A batch: changes of one session that share a frame and a sync, each decided on the one before.
#ifndef HOLDFAST_STORE_FS_COMMIT_BATCH_H_
#define HOLDFAST_STORE_FS_COMMIT_BATCH_H_

#include "session/apply.h"
#include "session/change.h"
#include "session/store.h"
#include "store-fs/contents.h"
#include "store-fs/environment.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <optional>
#include <vector>

namespace holdfast::fs {

// Decides changes one after the other without writing anything. Used by one thread.
class CommitBatch {
 public:
  // `contents` is what is durable, or nullptr for a session that does not exist. `journal` is its
  // open file.
  CommitBatch(const Environment& environment, const SessionKey& key, const Contents* contents,
              File* journal);

  // The result of `change` if this batch becomes durable.
  absl::StatusOr<CommitResult> Decide(const Change& change);

  // What must be written; empty when no change of the batch had an effect.
  [[nodiscard]] const std::vector<Applied>& applied() const { return applied_; }
  [[nodiscard]] const Head& head() const { return head_; }

 private:
  [[nodiscard]] absl::StatusOr<std::optional<RequestRow>> FindRequest(const RequestId& id) const;
  absl::StatusOr<CommitResult> Accept(const Change& change);
  // The entry of `change` whose number stands for another one, or nullptr.
  absl::StatusOr<const JournalEntry*> FindRewritten(const Change& change) const;
  absl::StatusOr<std::optional<JournalEntry>> StoredEntry(const JournalEntry& entry) const;
  [[nodiscard]] bool HasUploadOf(const Change& change) const;

  const Environment& environment_;
  const SessionKey& key_;
  const Contents* contents_;
  File* journal_;
  bool exists_;
  Head head_;
  absl::Time now_;
  std::vector<Applied> applied_;
  absl::flat_hash_map<RequestId, RequestRow> requests_;  // of this batch
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_COMMIT_BATCH_H_
