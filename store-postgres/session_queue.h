// A keyed FIFO mutex: one call at a time holds the lock of a session, in order of arrival.
#ifndef HOLDFAST_STORE_POSTGRES_SESSION_QUEUE_H_
#define HOLDFAST_STORE_POSTGRES_SESSION_QUEUE_H_

#include "session/ids.h"
#include "session/queue_progress.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstdint>
#include <deque>
#include <memory>

namespace holdfast::pg {

// A session that nothing moves on in for so long has stalled: its row is locked by another
// transaction, or the database is silent.
inline constexpr absl::Duration kSessionStalledAfter = absl::Seconds(1);

// What a call does when another one holds the session's lock.
enum class WhenLocked : uint8_t { kWait, kRefuse };

// Any thread may call.
class SessionQueue {
 public:
  // Holds the session's lock until it is destroyed, if `status` is OK. Waits for the calls that
  // came before; in a session that has stalled only kWaitersPerSession do, and each other call is
  // OVERLOADED with the outcome known. With kRefuse so is each call that would have to wait.
  class Lock {
   public:
    Lock(SessionQueue& queue, const SessionKey& key, WhenLocked when_locked = WhenLocked::kWait)
        : queue_(queue), key_(key), status_(queue_.Acquire(key_, when_locked)) {}
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() {
      if (status_.ok()) queue_.Release(key_);
    }

    [[nodiscard]] const absl::Status& status() const { return status_; }

   private:
    SessionQueue& queue_;
    const SessionKey& key_;
    const absl::Status status_;
  };

 private:
  struct Waiter {
    bool called = false;
    bool refused = false;
    [[nodiscard]] bool Ended() const { return called || refused; }
  };
  struct Session {
    std::deque<Waiter*> waiting;
    QueueProgress progress;
  };

  absl::Status Acquire(const SessionKey& key, WhenLocked when_locked);
  void Release(const SessionKey& key);
  static void RefuseCrowd(Session& session);

  absl::Mutex mutex_;
  // The sessions whose lock a call holds, with the calls that wait for it.
  absl::flat_hash_map<SessionKey, std::unique_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_SESSION_QUEUE_H_
