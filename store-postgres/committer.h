// Group commit over sessions: what waits while a write is under way is written
// by the next one together, in one statement and one flush. There is no timer: whoever finds nobody
// writing writes at once.
//
// The callers' own threads do the writing. Each has one change of its session; a session has one
// change at a time in here, in the order in which they came (Turns).
#ifndef HOLDFAST_STORE_POSTGRES_COMMITTER_H_
#define HOLDFAST_STORE_POSTGRES_COMMITTER_H_

#include "session/ids.h"
#include "session/limits.h"
#include "session/lru_cache.h"
#include "store-postgres/change_params.h"
#include "store-postgres/database.h"
#include "store-postgres/pg/failure.h"
#include "store-postgres/pg/rows.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast::pg {

// What a write answered: exactly one of the three.
struct Written {
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

// How many bytes a change writes.
size_t BytesOf(const DecidedChange& change);

// The columns of holdfast.outcome behind those of a standing.
enum OutcomeColumn : size_t {
  kOutcomeRequest = 6,
  kOutcomeToken,
  kOutcomeApplied,
  kOutcomeUploaded,
  kOutcomeTimeline,
  kOutcomeSkipped,
};

// Any thread may call.
class Committer {
 public:
  // `database` outlives it. Writes up to `group` changes in one statement; 1: each by itself.
  Committer(const Database& database, size_t group) : database_(database), group_(group) {}

  // Writes the change, alone or with others, and waits for its answer. Whatever becomes of the
  // others: one that cannot be written and one whose row is locked spoil nobody.
  Written Write(const DecidedChange& change);

  // Writes changes together that MayJoin, each of another session, in one statement that waits for
  // no lock. nullopt for one that must be written by itself: its row is locked, or the statement
  // was certainly rolled back for the sake of one of them.
  [[nodiscard]] std::vector<std::optional<Written>> WriteMany(
      const std::vector<GroupedWrite>& writes) const;
  // Whether it may be written with others.
  bool MayJoin(const DecidedChange& change);

  // How many writes of several changes may be under way at once: more than one pays where a flush
  // is long.
  void SetWritersMost(int writers);

 private:
  // Sessions that are written alone for a failure of before; of more the oldest is forgotten.
  static constexpr LruBounds kSpoilersMost = {.entries = 1024, .bytes = kMiB};
  struct Spoiler {
    friend size_t HeapSize(const Spoiler&) { return 0; }
  };

  struct Member;
  // Members go from one list to another without an allocation, so that no exception loses one.
  using Batch = std::list<Member*>;

  struct Member {
    Batch place;  // the member itself, unless it waits or is being written
    GroupedWrite write;
    bool writes = false;  // it is to write its own change and what waits
    bool alone = false;   // it must be written again, by its own call
    Written written;
    absl::Notification called;  // written by another, or to write
  };

  // Remembers the session of a change that the database refused to write.
  void Note(const SessionKey& key, const Written& written);
  // The member's own, or another's, which takes it along.
  Written WriteTogether(const DecidedChange& change);
  [[nodiscard]] Written WriteAlone(const DecidedChange& change) const;
  [[nodiscard]] Written WriteOne(const DecidedChange& change, WhenLocked when_locked,
                                 const std::vector<RecordedSpan>& spans) const;
  // True when it may write at once; else it waits to be called.
  bool Queue(Member& self);
  // Writes the member's change with what waits, and calls those it has written and the next writer.
  // Throws nothing: after an exception each member writes its change again by itself.
  void Lead(Member& self);
  // Adds to a batch of one what waits and fits.
  void FillBatch(Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Who takes a writer's place, if anybody waits; else the place is free.
  Member* NextWriter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run(const Batch& batch) const;

  const Database& database_;
  const size_t group_;
  absl::Mutex mutex_;
  Batch waiting_ ABSL_GUARDED_BY(mutex_);
  int writers_ ABSL_GUARDED_BY(mutex_) = 0;
  int writers_most_ ABSL_GUARDED_BY(mutex_) = 1;
  // Sessions whose last change could not be written: the next one goes alone, or every group that
  // it joins would have to be written a second time.
  LruCache<Spoiler> spoilers_{kSpoilersMost};
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_COMMITTER_H_
