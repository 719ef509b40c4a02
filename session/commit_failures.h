// Counts the failed commits of each session's turn that this server has seen: the third is
// SNAPSHOT_FAILED.
#ifndef HOLDFAST_SESSION_COMMIT_FAILURES_H_
#define HOLDFAST_SESSION_COMMIT_FAILURES_H_

#include "session/ids.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Any thread may call.
class CommitFailures {
 public:
  // The status for the client of a commit that ended with `status`: the same, or
  // SNAPSHOT_FAILED when this is at least the third STORE_UNAVAILABLE or STORAGE_FULL of this turn.
  // OK forgets the turn.
  absl::Status Classify(const SessionKey& key, TurnNumber turn, const absl::Status& status);

 private:
  struct Count {
    TurnNumber turn;
    int failures = 0;
  };
  absl::Mutex mutex_;
  absl::flat_hash_map<SessionKey, Count> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_COMMIT_FAILURES_H_
