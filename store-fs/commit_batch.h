// A batch: changes of one session that share a frame and a sync, each decided on the one before.
#ifndef HOLDFAST_STORE_FS_COMMIT_BATCH_H_
#define HOLDFAST_STORE_FS_COMMIT_BATCH_H_

#include "session/apply.h"
#include "session/change.h"
#include "session/change_decision.h"
#include "session/refusal.h"
#include "session/store.h"
#include "store-fs/batch_items.h"
#include "store-fs/change_record.h"
#include "store-fs/environment.h"
#include "store-fs/frame.h"
#include "store-fs/session_state.h"
#include "store-fs/slot_counter.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fs {

// Decides changes one after the other without writing anything. What it takes fits into one frame.
// Used by one thread.
class CommitBatch final : private DecisionReads {
 public:
  // `state` is what is durable, and `journal` its open file.
  CommitBatch(const Environment& environment, const SessionKey& key, const SessionState& state,
              File& journal);
  // Of a session that does not exist; `former` is the one that was deleted, if one was.
  CommitBatch(const Environment& environment, const SessionKey& key,
              std::optional<FormerSession> former);

  // The result of `change` if this batch becomes durable; nothing when the batch has no room for
  // it: it is to be decided in the next one.
  std::optional<absl::StatusOr<CommitResult>> Decide(const Change& change);

  // What must be written; empty when no change of the batch had an effect.
  [[nodiscard]] const std::vector<Applied>& applied() const { return applied_; }
  // The payload of its frame, as SealFrame takes it. Called once, after the last decision.
  [[nodiscard]] std::string TakePayload();
  [[nodiscard]] const Head& head() const { return head_; }

 private:
  CommitBatch(const Environment& environment, const SessionKey& key, const SessionState* state,
              File* journal);
  [[nodiscard]] StoreFacts Facts() const;
  [[nodiscard]] absl::StatusOr<std::optional<RequestRow>> FindRequest(const RequestId& id) const;
  absl::StatusOr<CommitResult> DecideOne(const Change& change);
  absl::StatusOr<CommitResult> Accept(const Change& change, Applied applied);
  absl::Status CheckRoom(const Applied& applied, size_t bytes);
  [[nodiscard]] absl::StatusOr<std::optional<JournalEntry>> StoredEntry(TurnNumber turn,
                                                                        EntryNumber number) const;
  absl::StatusOr<std::vector<JournalEntry>> StoredEntries(TurnNumber turn, EntryNumber first,
                                                          EntryNumber last) override;
  absl::StatusOr<bool> HoldsUpload(const UploadLink& link) override;
  absl::StatusOr<std::optional<Refusal>> CheckSlots(const Applied& applied) override;
  absl::StatusOr<std::optional<Refusal>> ResolveItemWrites(Applied& applied) override;

  const Environment& environment_;
  const SessionKey& key_;
  const SessionState* state_;
  File* journal_;
  SlotCounter slots_;
  BatchItems items_;
  bool exists_;
  std::optional<FormerSession> former_;  // of one that does not exist
  Head head_;
  absl::Time now_;        // for people
  absl::Time store_now_;  // by which it is counted how long something is kept
  std::vector<Applied> applied_;
  std::vector<std::string> encoded_;  // of `applied_`; the first one as if it were the only one
  size_t bytes_ = 0;                  // of these
  bool has_no_room_ = false;          // for the change that was asked about last
  absl::flat_hash_map<RequestId, RequestRow> requests_;  // of this batch
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_COMMIT_BATCH_H_
