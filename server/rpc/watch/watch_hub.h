// The watchers of all sessions, the thread that wakes them, and the workers that deliver to them.
// Events live in the store and, for a moment, in the feed of their session; what goes round here
// only says "look".
#ifndef HOLDFAST_SERVER_RPC_WATCH_WATCH_HUB_H_
#define HOLDFAST_SERVER_RPC_WATCH_WATCH_HUB_H_

#include "platform/clock.h"
#include "platform/exceptions.h"
#include "server/rpc/call/admission.h"
#include "server/rpc/watch/watch_feed.h"
#include "server/rpc/watch/watch_start.h"
#include "server/rpc/watch/watcher.h"
#include "server/worker_pool.h"
#include "session/ids.h"
#include "session/limits.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast {

struct WatchLimits {
  size_t watchers = kWatchersDefault;
  absl::Duration progress = kWatchProgressDefault;
  absl::Duration write_timeout = kWatchWriteTimeoutDefault;
};

// The share of `workers` that deliveries have: calls never wait behind them.
WorkerPool::Size DeliveryShare(WorkerPool::Size workers, const WatchLimits& limits);

// Any thread may call. While there are watchers, its thread waits in the store; else for a watcher.
class WatchHub {
 public:
  struct Parts {
    SessionStore& store;
    const Clock& clock;
    Admission& admission;
    WorkerPool::Size deliveries;         // room for a task of each watcher in its queue
    WorkerPool::ReportException report;  // may be unset
  };
  // All that is named must outlive this.
  WatchHub(const Parts& parts, WatchLimits limits);
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;
  // Waits for the thread, for up to kWatchBeat unless the store has been deactivated.
  ~WatchHub();

  // From now on `watcher` is woken for the session, at which it must look once itself, by the feed
  // that this answers. OVERLOADED when there are too many; STORE_UNAVAILABLE when the server stops.
  absl::StatusOr<std::shared_ptr<WatchFeed>> Add(const WatchStart& start,
                                                 const std::shared_ptr<Watcher>& watcher);
  // Harmless for a watcher that was not added.
  void Remove(const SessionKey& key, const Watcher& watcher);

  // How many watchers there are.
  size_t Count();
  // The longest Watcher::Lag.
  absl::Duration Lag();

  // Runs `task` on a worker of the deliveries; false, without having kept it, when their queue is
  // full, as it is only where there are more tasks than watchers.
  [[nodiscard]] bool Deliver(WorkerPool::Task task) { return deliveries_.Submit(std::move(task)); }

  // Admits no further watcher, asks all watchers to leave and waits until they have, at most for
  // `patience`.
  void Drain(absl::Duration patience);

  [[nodiscard]] const WatchLimits& limits() const { return limits_; }

 private:
  using Place = std::pair<SessionKey, const Watcher*>;
  // A feed lives as long as its session has watchers.
  struct Watched {
    std::shared_ptr<WatchFeed> feed;
    size_t watchers = 0;
  };
  using Watchers = std::vector<std::shared_ptr<Watcher>>;

  void Run();
  // False when the hub ends.
  bool AwaitWatchers();
  // Waits for events in the store, and wakes the watchers of their sessions.
  void AwaitEvents();
  // Waits for a beat, unless the hub ends.
  void Pause();
  // Calls `call` of each; an exception that leaves one holds back no other.
  void ForEach(const Watchers& watchers, absl::FunctionRef<void(Watcher&)> call);
  void WakeThose(const Wakeups& wakeups);
  // The periodic work: tending all watchers, and waking some without a notification.
  void Beat();
  // Watchers that come to the end of the events from here on read once more, also without a
  // wake-up.
  void TouchFeeds();
  void TrimFeeds();
  Watchers AllWatchers();
  Watchers NextToPoll();

  SessionStore& store_;
  const Clock& clock_;
  Admission& admission_;
  const WatchLimits limits_;
  absl::Mutex mutex_;
  absl::btree_map<Place, std::shared_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
  absl::btree_map<SessionKey, Watched> feeds_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  Place polled_ ABSL_GUARDED_BY(mutex_);  // the last one that was woken without a reason
  absl::Duration last_beat_;              // the thread's own
  LoopGuard guard_;
  WorkerPool deliveries_;
  std::jthread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_WATCH_WATCH_HUB_H_
