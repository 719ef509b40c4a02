// When leases expire and since when sessions have cancel requests, in memory only: a restart grants
// each held lease one full TTL from the store's opening.
#ifndef HOLDFAST_STORE_FS_LEASE_TABLE_H_
#define HOLDFAST_STORE_FS_LEASE_TABLE_H_

#include "platform/clock.h"
#include "session/head.h"
#include "session/ids.h"
#include "session/limits.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <list>
#include <optional>
#include <utility>

namespace holdfast::fs {

// Has a row of each session that a decision may rest on: a turn is active, or a lease has not
// expired. Of the others the least recently used go when there are more than so many rows; what is
// answered about them is the same without one. Any thread may call. Times are of the boot clock, so
// that a suspended machine does not prolong a lease.
class LeaseTable {
 public:
  explicit LeaseTable(const Clock& clock, size_t most = kLeaseRows)
      : clock_(clock), opened_(clock.SinceBoot()), most_(most) {}

  // Fills in the lease's current state.
  void Evaluate(const SessionKey& key, Head& head);
  // The session's holder renewed its lease for `ttl` from now on; the renewal was checked on
  // `head`.
  void Renew(const SessionKey& key, const Head& head, absl::Duration ttl);
  // A change has made `head` of the session; with `ttl` it granted or renewed its lease. The leader
  // of the session calls this.
  void NoteChange(const SessionKey& key, const Head& head, std::optional<absl::Duration> ttl);
  void Forget(const SessionKey& key);
  // Notes whether the session's head asks for an end; the time counts from the first such head.
  void NoteCancelRequests(const SessionKey& key, const Head& head);
  // How long the head has asked for an end, counted from the opening at the earliest.
  absl::Duration CancelRequestedFor(const SessionKey& key);
  // How long nothing has happened in a session with an active turn, counted from the opening at the
  // earliest.
  absl::Duration Quiet(const SessionKey& key);
  [[nodiscard]] size_t rows();

 private:
  struct Entry {
    Epoch epoch;  // 0: no renewal in this incarnation
    absl::Duration deadline;
    absl::Duration touched;
    bool active = false;  // a turn is
    bool held = false;
  };
  using Rows = std::list<std::pair<SessionKey, Entry>>;

  // The row of `key`, as the most recently used one.
  Entry& Use(const SessionKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool IsNeeded(const Entry& entry, absl::Duration now) const;
  void MakeRoom(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const absl::Duration opened_;
  const size_t most_;
  absl::Mutex mutex_;
  Rows rows_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  absl::flat_hash_map<SessionKey, Rows::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  // Since when sessions have cancel requests; few do.
  absl::flat_hash_map<SessionKey, absl::Duration> cancel_requested_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_LEASE_TABLE_H_
