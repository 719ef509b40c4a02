// One kind of the server's own work on sessions. A sweep takes up candidates in key order, starts
// where the last one stopped, and begins anew at the end: a candidate that fails costs the others
// nothing.
#ifndef HOLDFAST_SESSION_SWEEP_H_
#define HOLDFAST_SESSION_SWEEP_H_

#include "platform/lru_cache.h"
#include "session/heap_size.h"
#include "session/ids.h"
#include "session/limits.h"
#include "session/reasons.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace holdfast {

// Any thread may call; sweeps of one kind run one after the other.
class Sweep {
 public:
  // Ends or recovers one candidate.
  using Act = std::function<absl::Status(const SessionKey&)>;
  // Takes the failure of one candidate.
  using Report = std::function<void(const SessionKey&, const absl::Status&)>;

  Sweep(SessionStore& store, DueKind kind) : store_(store), kind_(kind) {}

  // Acts on at most `limit` candidates that have been quiet for `quiet`; answers how many were
  // changed. A candidate that fails or throws is reported, once for each reason in a row, and
  // skipped. Ends early when the store is down or `stopping()`.
  absl::StatusOr<size_t> Run(absl::Duration quiet, size_t limit, const Act& act,
                             const Report& report, const std::function<bool()>& stopping);

 private:
  absl::StatusOr<std::vector<SessionKey>> Candidates(absl::Duration quiet, size_t limit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether it failed because of the store, and not because of the session.
  bool IsStoreDown(const absl::Status& status) const;
  void NoteFailure(const SessionKey& key, const absl::Status& status, const Report& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Candidates whose failure was reported; of one that is evicted it is reported again.
  struct Reported {
    Reason reason = Reason::kInternal;
    friend size_t HeapSize(const Reported&) { return 0; }
  };
  static constexpr LruBounds kReported = {.entries = 4096, .bytes = 4 * kMiB};

  SessionStore& store_;
  const DueKind kind_;
  absl::Mutex mutex_;
  std::optional<SessionKey> position_ ABSL_GUARDED_BY(mutex_);  // the last one that was taken up
  LruCache<SessionKey, Reported> reported_{kReported};
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SWEEP_H_
