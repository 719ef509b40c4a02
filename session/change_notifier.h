// Notifies the server of sessions with new events (SessionStore::WaitForEvents): the threads of a
// store notify of sessions, one thread waits for them.
//
//   ChangeNotifier change_notifier;
//   change_notifier.Notify(key);             // after publishing events
//   change_notifier.Wait(absl::Seconds(1));  // the keys since the last call
//   change_notifier.Shutdown();              // in Deactivate
#ifndef HOLDFAST_SESSION_CHANGE_NOTIFIER_H_
#define HOLDFAST_SESSION_CHANGE_NOTIFIER_H_

#include "session/ids.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast {

// Any thread may notify; one thread at a time waits. Holds at most kWakeupsMost keys.
class ChangeNotifier {
 public:
  // Of `key`, whose events can be read by now. Never blocks.
  void Notify(const SessionKey& key);
  // Of any session: more have changed than can be named.
  void NotifyAll();
  // The notifications since the previous call: at once if there are any, else as soon as there
  // are, and none after `at_most`. STORE_UNAVAILABLE after Shutdown.
  absl::StatusOr<Wakeups> Wait(absl::Duration at_most);
  // Ends a call that waits, and every later one.
  void Shutdown();

 private:
  [[nodiscard]] bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shut_down_ || all_ || !changed_.empty();
  }

  absl::Mutex mutex_;
  absl::flat_hash_set<SessionKey> changed_ ABSL_GUARDED_BY(mutex_);
  bool all_ ABSL_GUARDED_BY(mutex_) = false;  // too many to name
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_CHANGE_NOTIFIER_H_
