// A check of the store that its callers share, because each writes and syncs a file.
#ifndef HOLDFAST_SERVER_RPC_STORE_CHECK_H_
#define HOLDFAST_SERVER_RPC_STORE_CHECK_H_

#include "session/clock.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <optional>

namespace holdfast {

// Any thread may call.
class SharedStoreCheck final {
 public:
  // Both must outlive this.
  SharedStoreCheck(SessionStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  // What the store's check came to, at most kStoreCheckShared ago: its error is the answer too.
  // While one is under way, what the one before came to. Where there was none, OVERLOADED with
  // RetryInfo after a second, so that a disk that does not answer does not hold all workers.
  absl::StatusOr<StoreCheck> Get();

 private:
  struct Outcome {
    absl::StatusOr<StoreCheck> check;
    absl::Duration at;
  };

  void AwaitFirst() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SessionStore& store_;
  const Clock& clock_;
  absl::Mutex mutex_;
  bool under_way_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Outcome> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STORE_CHECK_H_
