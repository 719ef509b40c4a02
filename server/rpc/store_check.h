// A check of the store that its callers share, because each writes and syncs a file.
#ifndef HOLDFAST_SERVER_RPC_STORE_CHECK_H_
#define HOLDFAST_SERVER_RPC_STORE_CHECK_H_

#include "platform/clock.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <optional>

namespace holdfast {

// How old the outcome of a check may be that is answered while another one is under way.
inline constexpr absl::Duration kStoreCheckTrusted = absl::Minutes(1);

// Any thread may call.
class SharedStoreCheck final {
 public:
  // Both must outlive this.
  SharedStoreCheck(SessionStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  // What the store's check came to, at most kStoreCheckShared ago: its error is the answer too.
  // While one is under way, what the one before came to. Where that is older than
  // kStoreCheckTrusted, STORE_UNAVAILABLE a second after the check began, which may hang. Where
  // there was none, OVERLOADED with RetryInfo, and STORE_UNAVAILABLE once the check has taken as
  // long as that: a disk that does not answer does not hold all workers.
  absl::StatusOr<StoreCheck> Get();

 private:
  struct Outcome {
    absl::StatusOr<StoreCheck> check;
    absl::Duration at;
  };

  // The answer while a check is under way; nullopt when it ended meanwhile without an outcome.
  std::optional<absl::StatusOr<StoreCheck>> Meanwhile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for the check's end, until kCheckWait after it began.
  void AwaitEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool YoungerThan(absl::Duration most) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SessionStore& store_;
  const Clock& clock_;
  absl::Mutex mutex_;
  bool under_way_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration begun_ ABSL_GUARDED_BY(mutex_);  // the check that is under way
  std::optional<Outcome> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STORE_CHECK_H_
