// One at a time for each session, in the order in which they came.
#ifndef HOLDFAST_STORE_POSTGRES_TURNS_H_
#define HOLDFAST_STORE_POSTGRES_TURNS_H_

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

// What a call does when another one holds the session's turn.
enum class WhenTaken : uint8_t { kWait, kRefuse };

// Any thread may call.
class Turns {
 public:
  // Holds the session's turn until it goes away, if `status` is OK. Waits for those that came
  // before; in a session that has stalled only kWaitersPerSession do, and each other call is
  // OVERLOADED with the outcome known. With kRefuse so is each call that would have to wait.
  class Turn {
   public:
    Turn(Turns& turns, const SessionKey& key, WhenTaken when_taken = WhenTaken::kWait)
        : turns_(turns), key_(key), status_(turns_.Enter(key_, when_taken)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (status_.ok()) turns_.Leave(key_);
    }

    [[nodiscard]] const absl::Status& status() const { return status_; }

   private:
    Turns& turns_;
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

  absl::Status Enter(const SessionKey& key, WhenTaken when_taken);
  void Leave(const SessionKey& key);
  static void RefuseCrowd(Session& session);

  absl::Mutex mutex_;
  // The sessions whose turn a call holds, with those that wait for it.
  absl::flat_hash_map<SessionKey, std::unique_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_TURNS_H_
