// One at a time for each session, in the order in which they came.
#ifndef HOLDFAST_STORE_POSTGRES_TURNS_H_
#define HOLDFAST_STORE_POSTGRES_TURNS_H_

#include "session/ids.h"
#include "session/off_core.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

#include <deque>

namespace holdfast::pg {

// Any thread may call.
class Turns {
 public:
  // Holds the session's turn until it goes away. Waits for those that came before.
  class Turn {
   public:
    Turn(Turns& turns, const SessionKey& key) : turns_(turns), key_(key) { turns_.Enter(key_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { turns_.Leave(key_); }

   private:
    Turns& turns_;
    const SessionKey& key_;
  };

 private:
  void Enter(const SessionKey& key) {
    absl::MutexLock lock(&mutex_);
    const auto [place, free] = waiting_.try_emplace(key);
    if (free) return;
    bool called = false;
    place->second.push_back(&called);
    AwaitOffCore(mutex_, absl::Condition(&called));
  }
  void Leave(const SessionKey& key) {
    const absl::MutexLock lock(&mutex_);
    const auto place = waiting_.find(key);
    if (place->second.empty()) {
      waiting_.erase(place);
      return;
    }
    *place->second.front() = true;
    place->second.pop_front();
  }

  absl::Mutex mutex_;
  // The sessions whose turn somebody holds, with those who wait for it.
  absl::flat_hash_map<SessionKey, std::deque<bool*>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_TURNS_H_
