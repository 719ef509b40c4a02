// What a store tells its server of sessions with new events (SessionStore::WaitForEvents): a store
// rings for every session, one thread takes what has been rung for.
//
//   EventBell bell;
//   bell.Ring(key);                      // whoever has published events
//   bell.Wait(absl::Seconds(1));         // the keys since the last call
//   bell.Silence();                      // Deactivate
#ifndef HOLDFAST_SESSION_EVENT_BELL_H_
#define HOLDFAST_SESSION_EVENT_BELL_H_

#include "session/ids.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast {

// Any thread may ring; one thread at a time waits. Holds at most kWakeupsMost keys.
class EventBell {
 public:
  // Tells of `key`, whose events can be read by now. Never blocks.
  void Ring(const SessionKey& key);
  // Tells that it may be any session: there are more than can be named.
  void RingForAll();
  // What was rung for since the call before: at once if there is anything, else as soon as there
  // is, and nothing after `at_most`. STORE_UNAVAILABLE once the bell is silent.
  absl::StatusOr<Wakeups> Wait(absl::Duration at_most);
  // Ends a call that waits, and every later one.
  void Silence();

 private:
  [[nodiscard]] bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return silent_ || all_ || !rung_.empty();
  }

  absl::Mutex mutex_;
  absl::flat_hash_set<SessionKey> rung_ ABSL_GUARDED_BY(mutex_);
  bool all_ ABSL_GUARDED_BY(mutex_) = false;  // too many to name
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_EVENT_BELL_H_
