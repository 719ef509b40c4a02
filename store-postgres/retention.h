// Deletion of rows that no call can ask for any more.
#ifndef HOLDFAST_STORE_POSTGRES_RETENTION_H_
#define HOLDFAST_STORE_POSTGRES_RETENTION_H_

#include "platform/exceptions.h"
#include "session/change.h"
#include "session/head.h"
#include "session/ids.h"
#include "store-postgres/database.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::pg {

// Whether a session is to be pruned behind `change`, which left `head`. It then stays in the
// sweeps' sight until it was.
bool NeedsPrune(const Change& change, const Head& head);

// What of a session is to stay, as its head says.
struct PruneBounds {
  SessionUid uid;                  // of this session of the id alone
  bool has_pins = false;           // what checkpoints pin stays too
  JournalNumber journal;           // entries behind this one
  Revision oldest;                 // snapshots from this one on
  Generation generation;           // messages of this generation and of later ones
  std::vector<HistorySpan> named;  // of earlier ones, those up to a message
  // From which message on, by generation, some are named no more that were; absent: none.
  std::optional<HistorySpan> dead;
};

// Of a session of which nothing is known but its head: any message may be named no more.
PruneBounds PruneBoundsOf(const Head& head);
// Of one that a change has taken from `before` to `after`.
PruneBounds PruneBoundsOf(const Head& before, const Head& after);

// Prunes sessions behind their changes, on a thread of its own. What is missed, because the server
// ends, has too much to do or meets an error, is found by a sweep. Any thread may call.
class Retention {
 public:
  // `database` outlives it.
  explicit Retention(const Database& database) : database_(database) {}
  ~Retention() { Stop(); }
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  void Start();
  void Stop();
  // Takes note of a change that was written, and of the head that it left. `before` is one that the
  // session had before, as far as one is known.
  void Note(const Change& change, const Head* before, const Head& head);

  // What a sweep tidies: the feed, deleted sessions, and what quiet sessions do not need any more.
  // A bounded part of it; the next sweep goes on behind it. One session that cannot be tidied holds
  // back no other. The first error, after all of it was tried.
  absl::Status Sweep();
  // Prunes one session to `bounds`; false when there is more to be done.
  absl::StatusOr<bool> Prune(const SessionKey& key, const PruneBounds& bounds) const;
  // Removes about so many rows of what a deleted session has left, and nothing of one that is
  // there. True when nothing is left.
  absl::StatusOr<bool> Purge(const SessionKey& key, int64_t rows) const;

 private:
  using Due = std::pair<SessionKey, PruneBounds>;
  // A place among the sessions in the sweeps' sight.
  struct Place {
    std::string tenant;
    absl::Time listed_at = absl::InfinitePast();
    std::string session;
  };
  // What one sweep did.
  struct Round {
    size_t failures = 0;
    absl::Status first_error;
  };

  absl::Status TidySessions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(sweeping_);
  // Tidies the sessions of one look, and takes those out of sight that are done.
  absl::Status TidyAll(const Rows& rows, Round& round) ABSL_EXCLUSIVE_LOCKS_REQUIRED(sweeping_);
  // True when nothing is left to be done for the session in `row`.
  absl::StatusOr<bool> Tidy(const Rows& rows, size_t row) const;
  void Run();
  std::optional<Due> Take();
  [[nodiscard]] bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !due_.empty();
  }

  const Database& database_;
  LoopGuard guard_{"retention", database_.report};
  absl::Mutex sweeping_;  // one sweep at a time; held across I/O
  // The session to go on behind.
  Place tidied_to_ ABSL_GUARDED_BY(sweeping_);
  absl::Mutex mutex_;
  absl::flat_hash_map<SessionKey, PruneBounds> due_ ABSL_GUARDED_BY(mutex_);
  size_t spans_due_ ABSL_GUARDED_BY(mutex_) = 0;  // in `named` of all of them
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_RETENTION_H_
