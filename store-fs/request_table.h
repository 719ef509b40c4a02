// The request ids of one session, for as long as their replies are kept. The table holds the newest
// replies, which the journal has too; of older ones it holds only their places in the session's log
// of requests, which costs a tenth of the memory. The ids from before the session was opened are
// read when the first request needs them, from the ids alone (stored_request.h).
#ifndef HOLDFAST_STORE_FS_REQUEST_TABLE_H_
#define HOLDFAST_STORE_FS_REQUEST_TABLE_H_

#include "session/change.h"
#include "session/ids.h"
#include "session/queue_progress.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace holdfast::fs {

// A request id as the bytes of its UUID.
using RequestKey = std::array<char, 16>;
RequestKey KeyOf(const RequestId& id);

// The cost follows what is added and what is dropped, never what is kept. Any thread may call; but
// only the session's leader adds and drops rows, under its lock, and reads `unwritten`.
class RequestTable {
 public:
  // What is known of a request.
  struct Known {
    std::optional<RequestRow> row;  // of one in the journal
    uint64_t number = 0;            // of the row in the log
    bool lost = false;              // it may be the row of this number, whose id cannot be read
  };
  // The ids of the rows before `end`, the newest last; nullopt for one that cannot be read.
  using Ids = std::vector<std::optional<RequestKey>>;
  using Learn = std::function<absl::StatusOr<Ids>(uint64_t end)>;

  // `next` is the number that the first row to be added will have in the log.
  explicit RequestTable(uint64_t next = 1) : next_(next) {}
  RequestTable(const RequestTable&) = delete;
  RequestTable& operator=(const RequestTable&) = delete;
  ~RequestTable() = default;

  // The newest row; replaces one of the same id.
  void Add(RequestRow row);
  // The newest row of `id`; nullopt when there is none. Calls `learn` if the ids of older rows are
  // not known yet, without a lock; other callers wait for it. A failure of `learn` is the answer of
  // its caller alone, and the next caller asks again. OVERLOADED when `learn` makes no progress and
  // more than kWaitersPerSession callers wait for it.
  absl::StatusOr<std::optional<Known>> Find(const RequestId& id, const Learn& learn);
  // The number that the next row will have.
  [[nodiscard]] uint64_t next();
  // Those that are in the journal alone, oldest first; valid until the table changes.
  [[nodiscard]] const std::deque<RequestRow>& unwritten() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return unwritten_;
  }
  // The log also has the rows that were added so far, in that order; it begins with number `first`
  // now.
  void NoteWritten(uint64_t first);

 private:
  // Learns the ids of the rows before `first()`, unless they are known.
  absl::Status EnsureLearnt(const Learn& learn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the ids of the rows before number `end`, without those that have left the log meanwhile.
  void Take(const Ids& ids, uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The number of the oldest row whose id is here.
  [[nodiscard]] uint64_t first() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return next_ - ids_.size();
  }

  absl::Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_);
  uint64_t first_kept_ ABSL_GUARDED_BY(mutex_) = 0;  // rows before it have left the log
  bool learnt_ ABSL_GUARDED_BY(mutex_) = false;
  bool learning_ ABSL_GUARDED_BY(mutex_) = false;
  size_t waiters_ ABSL_GUARDED_BY(mutex_) = 0;  // callers that wait for the one that learns
  QueueProgress progress_ ABSL_GUARDED_BY(mutex_);
  // Of the newest so many rows, numbered without a gap; nullopt for one that cannot be read.
  std::deque<std::optional<RequestKey>> ids_ ABSL_GUARDED_BY(mutex_);
  // The number of the newest row of an id.
  absl::flat_hash_map<RequestKey, uint64_t> newest_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_lost_ ABSL_GUARDED_BY(mutex_) = 0;  // number of the newest whose id is lost
  std::deque<RequestRow> unwritten_ ABSL_GUARDED_BY(mutex_);  // of the newest so many
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_REQUEST_TABLE_H_
