// Everybody who watches, by session, and the one thread that wakes them. Events live in the store;
// what goes round here only says "look".
#ifndef HOLDFAST_SERVER_RPC_WATCH_HUB_H_
#define HOLDFAST_SERVER_RPC_WATCH_HUB_H_

#include "session/clock.h"
#include "session/ids.h"
#include "session/limits.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast {

// One who watches. The hub's thread calls, holding no lock; each call returns at once.
class Watcher {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  virtual ~Watcher() = default;

  // The session may have new events.
  virtual void Wake() = 0;
  // About once every kWatchBeat; `now` is time since boot.
  virtual void Tend(absl::Duration now) = 0;
  // The server stops: say so to the client, and go.
  virtual void Leave() = 0;
};

struct WatchLimits {
  size_t watchers = kWatchersDefault;
  absl::Duration progress = kWatchProgressDefault;
  absl::Duration write_timeout = kWatchWriteTimeoutDefault;
};

// Any thread may call. While somebody watches, its thread waits in the store; else it only waits.
class WatchHub {
 public:
  // `store` and `clock` must outlive this.
  WatchHub(SessionStore& store, const Clock& clock, WatchLimits limits);
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;
  // Waits for the thread, for up to kWatchBeat unless the store has been deactivated.
  ~WatchHub();

  // From now on `watcher` is woken for `key`, which it must look at once itself. OVERLOADED when
  // there are too many; STORE_UNAVAILABLE when the server stops.
  absl::Status Add(const SessionKey& key, const std::shared_ptr<Watcher>& watcher);
  // Harmless for one who was not added.
  void Remove(const SessionKey& key, const Watcher& watcher);

  // Lets nobody in any more, tells everybody to leave and waits until they have, at most for
  // `patience`.
  void Drain(absl::Duration patience);

  [[nodiscard]] const WatchLimits& limits() const { return limits_; }

 private:
  using Place = std::pair<SessionKey, const Watcher*>;
  using Watchers = std::vector<std::shared_ptr<Watcher>>;

  void Run();
  // False when the hub ends.
  bool AwaitWatchers();
  void WakeThose(const Wakeups& wakeups);
  // What is due by the clock: looking after everybody, and waking some whom nobody woke.
  void Beat();
  Watchers Everybody();
  Watchers NextToPoll();

  SessionStore& store_;
  const Clock& clock_;
  const WatchLimits limits_;
  absl::Mutex mutex_;
  absl::btree_map<Place, std::shared_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  Place polled_ ABSL_GUARDED_BY(mutex_);  // the last one that was woken without a reason
  absl::Duration last_beat_;              // the thread's own
  std::jthread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_HUB_H_
