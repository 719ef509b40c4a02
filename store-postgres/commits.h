// Changes on PostgreSQL: decided here, remembered there (schema/0003_changes.sql).
//
// A change is decided on the head that this server last saw, and written by one call that compares
// versions. Only where the head has moved on, or the decision would be a refusal, is it decided
// again, on a head that was read together with the stored reply of this request.
#ifndef HOLDFAST_STORE_POSTGRES_COMMITS_H_
#define HOLDFAST_STORE_POSTGRES_COMMITS_H_

#include "platform/lru_cache.h"
#include "session/apply.h"
#include "session/change.h"
#include "session/change_notifier.h"
#include "session/heap_size.h"
#include "session/limits.h"
#include "session/store.h"
#include "store-postgres/change_rows.h"
#include "store-postgres/committer.h"
#include "store-postgres/database.h"
#include "store-postgres/head_cache.h"
#include "store-postgres/notifier.h"
#include "store-postgres/pg/failure.h"
#include "store-postgres/pg/rows.h"
#include "store-postgres/retention.h"
#include "store-postgres/session_queue.h"
#include "store-postgres/slot_counts.h"
#include "store-postgres/stored_head.h"
#include "store-postgres/uploads.h"

#include "absl/status/statusor.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::pg {

// Any thread may call.
class Commits {
 public:
  // All outlive it. `group`: as Committer's.
  // NOLINTNEXTLINE(readability-function-size): the parts of a store that a commit uses
  Commits(const Database& database, HeadCache& heads, Uploads& uploads, Retention& retention,
          ChangeNotifier& change_notifier, Notifier& notifier, size_t group)
      : database_(database),
        heads_(heads),
        uploads_(uploads),
        retention_(retention),
        change_notifier_(change_notifier),
        notifier_(notifier),
        committer_(database, group) {}

  // As SessionStore::LoadForDecision.
  absl::StatusOr<LoadedSession> Load(const SessionKey& key,
                                     const std::optional<RequestId>& request);
  // As SessionStore::LoadForOutcome.
  absl::StatusOr<LoadedSession> LoadForOutcome(const SessionKey& key, const RequestId& request);
  // As SessionStore::Commit.
  absl::StatusOr<CommitResult> Commit(const Change& change);
  // As SessionStore::CommitMany. A change goes alone unless it can be decided on a head that is
  // remembered, without a statement.
  std::vector<GroupedResult> CommitMany(const std::vector<GroupedChange>& changes);

  // False when the last change failed because of the database.
  [[nodiscard]] bool healthy() const { return healthy_; }
  void NoteHealthy() { healthy_ = true; }

 private:
  // What a change is decided on.
  struct DecisionInput {
    StoredHead stored;
    std::optional<RequestRow> request;
    bool fresh = false;  // read together with the request: it may refuse
  };
  // What was decided: an answer, or what is to be written.
  struct WritePlan {
    std::optional<absl::StatusOr<CommitResult>> answer;
    Applied applied;
    SlotVerdict slots;
    DecidedChange change;  // without what was applied, which moves with the plan
  };
  // What a write came to: one of the three.
  struct WriteOutcome {
    std::optional<CommitResult> applied;
    std::optional<DecisionInput> moved;  // nothing was written: decide again on this
    Failure failure;
  };

  // One of several changes that are written together.
  struct Member;
  // What became of a change in its group, for when it is committed alone.
  struct Earlier {
    bool in_doubt = false;  // it may have been written
    int lost = 0;           // as in PendingChange
    friend size_t HeapSize(const Earlier&) { return 0; }
  };
  // Sessions with such a change; of more the oldest is forgotten.
  static constexpr LruBounds kEarlierMost = {.entries = 1024, .bytes = kMiB};

  // Whether a decision may ask the database. Where it would have to and may not, it is ABORTED.
  enum class Reads : uint8_t { kMay, kMayNot };

  class ReadsOf;

  // A change that is not answered yet.
  struct PendingChange {
    DecisionInput input;
    int broken = 0;  // connections that broke under it
    int lost = 0;    // times that it was rolled back for another transaction's sake
    std::optional<absl::StatusOr<CommitResult>> answer;
  };

  [[nodiscard]] StoreFacts Facts() const;
  // Decides, and writes what was decided. An error gives the change up.
  absl::Status TryOnce(const Change& change, PendingChange& pending);
  // The input from the cached head.
  static DecisionInput InputFrom(const VersionedHead& known);
  absl::StatusOr<DecisionInput> FindFirstInput(const Change& change);
  // The caller holds the session's lock. A stored reply in it has been flushed.
  absl::StatusOr<DecisionInput> LoadFreshInput(const SessionKey& key,
                                               const std::optional<RequestId>& request);
  // The current row; waits for no lock and no flush.
  absl::StatusOr<DecisionInput> LoadInput(const SessionKey& key,
                                          const std::optional<RequestId>& request);
  // The caller holds the session's lock. It has been flushed and has reached the standby.
  absl::StatusOr<DecisionInput> LoadFlushedInput(const SessionKey& key, const RequestId& request);
  absl::StatusOr<WritePlan> Decide(const Change& change, const DecisionInput& input);
  absl::StatusOr<WritePlan> DecideChange(const Change& change, const DecisionInput& input,
                                         Reads reads = Reads::kMay);
  // Decides `change` for a group of changes; false when it must go alone.
  bool DecideForGroup(const Change& change, Member& member);
  // What the database answered to a change of a group.
  GroupedResult Answer(const WriteResult& result, Member& member);
  // The answer to a change that was not written because the session has changed.
  static GroupedResult AnswerMoved(const Change& change, const DecisionInput& now);
  // Remembers it for the change of `member`, which goes alone.
  void Remember(const Member& member, const Earlier& earlier);
  // One attempt; an error when there was none, for want of a connection.
  absl::StatusOr<WriteOutcome> Write(const Change& change, WritePlan plan);
  // What was written of `plan`, or why nothing was.
  absl::StatusOr<WriteOutcome> TakeAnswer(const WriteResult& result, const HeadRow& row,
                                          WritePlan& plan);
  absl::StatusOr<DecisionInput> ReadInput(const Rows& rows, size_t row, const SessionKey& key);
  void Publish(const Change& change, const CommitResult& result, VersionedHead known);
  // Notifies the watchers of the session, here and at the other servers.
  void NotifyWatchers(const SessionKey& key);

  const Database& database_;
  HeadCache& heads_;
  Uploads& uploads_;
  Retention& retention_;
  ChangeNotifier& change_notifier_;
  Notifier& notifier_;
  SlotCounts slot_counts_{database_};
  SessionQueue queue_;
  Committer committer_;
  std::atomic<bool> healthy_ = true;
  LruCache<SessionKey, Earlier> earlier_{kEarlierMost};
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_COMMITS_H_
