// Writes decided changes: one by itself, or several of different sessions in one statement and one
// flush. The caller forms the groups (server/rpc/call/commit_batcher.h).
#ifndef HOLDFAST_STORE_POSTGRES_COMMITTER_H_
#define HOLDFAST_STORE_POSTGRES_COMMITTER_H_

#include "platform/lru_cache.h"
#include "session/heap_size.h"
#include "session/ids.h"
#include "session/limits.h"
#include "store-postgres/change_params.h"
#include "store-postgres/database.h"
#include "store-postgres/pg/failure.h"
#include "store-postgres/pg/rows.h"

#include "absl/status/status.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace holdfast::pg {

// What a write answered: exactly one of the three.
struct WriteResult {
  std::shared_ptr<const Rows> rows;  // with the columns of holdfast.outcome in `row`
  size_t row = 0;
  std::optional<Failure> failure;
  absl::Status unreached;  // there was no connection to write over
};

// A change to be written with others.
struct GroupedWrite {
  const DecidedChange* change = nullptr;
  size_t bytes = 0;
  std::optional<RecordedSpan> span;
};

// The columns of holdfast.outcome behind those of a stored head.
enum OutcomeColumn : size_t {
  kOutcomeRequest = 6,
  kOutcomeToken,
  kOutcomeApplied,
  kOutcomeUploaded,
  kOutcomeTimeline,
  kOutcomeSkipped,
  kOutcomeItems,  // and those behind it: of a change that writes items (item_answers.h)
};

// Any thread may call.
class Committer {
 public:
  // `database` outlives it. Writes up to `group` changes in one statement; 1: each by itself.
  Committer(const Database& database, size_t group) : database_(database), group_(group) {}

  // Writes the change by itself and waits for its answer, also for the lock on its row.
  WriteResult Write(const DecidedChange& change);

  // Writes changes together that MayJoin, each of another session, in statements that wait for no
  // lock. nullopt for one that must be written by itself: its row is locked, or its statement was
  // certainly rolled back for the sake of one of them. After an exception each may have been
  // written.
  [[nodiscard]] std::vector<std::optional<WriteResult>> WriteMany(
      const std::vector<GroupedWrite>& writes) const;
  // Whether it may be written with others.
  bool MayJoin(const DecidedChange& change);

 private:
  // Sessions that are written alone for a failure of before; of more the oldest is forgotten.
  static constexpr LruBounds kPoisonedSessionsMost = {.entries = 1024, .bytes = kMiB};
  struct PoisonedSession {
    friend size_t HeapSize(const PoisonedSession&) { return 0; }
  };

  // Remembers the session of a change that the database refused to write.
  void Note(const SessionKey& key, const WriteResult& result);
  [[nodiscard]] WriterFacts Facts() const;
  void Count(const WriteResult& result, std::span<const GroupedWrite> writes) const;
  // By one statement. Fills `results`, which has a place for each.
  void WriteInto(std::span<const GroupedWrite> writes,
                 std::span<std::optional<WriteResult>> results) const;

  const Database& database_;
  const size_t group_;
  // Sessions whose last change could not be written: the next one goes alone, or every group that
  // it joins would have to be written a second time.
  LruCache<SessionKey, PoisonedSession> poisoned_{kPoisonedSessionsMost};
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_COMMITTER_H_
