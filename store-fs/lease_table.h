// When leases expire and since when sessions are marked, in memory only: a restart grants each held
// lease one full TTL from the store's opening (STORES section 2, "Leases").
#ifndef HOLDFAST_STORE_FS_LEASE_TABLE_H_
#define HOLDFAST_STORE_FS_LEASE_TABLE_H_

#include "session/clock.h"
#include "session/head.h"
#include "session/ids.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast::fs {

// Any thread may call. Times are of the boot clock, so that a suspended machine does not prolong a
// lease.
class LeaseTable {
 public:
  explicit LeaseTable(const Clock& clock) : clock_(clock), opened_(clock.SinceBoot()) {}

  // Fills in the lease's state as it stands now.
  void Evaluate(const SessionKey& key, Head& head);
  // The lease of this epoch runs for `ttl` from now on.
  void Renew(const SessionKey& key, Epoch epoch, absl::Duration ttl);
  // Something happened in the session.
  void Touch(const SessionKey& key);
  void Forget(const SessionKey& key);
  // Whether the session's head asks for an end now; counts from the first time that it does.
  void NoteMarks(const SessionKey& key, const Head& head);
  // How long it has, counted from the opening at the earliest.
  absl::Duration MarkedFor(const SessionKey& key);
  // How long nothing has happened, counted from the opening at the earliest.
  absl::Duration Quiet(const SessionKey& key);

 private:
  struct Entry {
    Epoch epoch;  // 0: no renewal in this incarnation
    absl::Duration deadline;
    absl::Duration touched;
  };

  const Clock& clock_;
  const absl::Duration opened_;
  absl::Mutex mutex_;
  absl::flat_hash_map<SessionKey, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  // Since when sessions are marked; few are.
  absl::flat_hash_map<SessionKey, absl::Duration> marked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_LEASE_TABLE_H_
