#include "server/rpc/watch/watch_hub.h"

#include "server/rpc/call/admission.h"
#include "session/refusal.h"

#include "absl/status/statusor.h"

#include <algorithm>

namespace holdfast {

WorkerPool::Size DeliveryShare(WorkerPool::Size workers, const WatchLimits& limits) {
  const auto share = [](size_t all) { return std::max<size_t>(1, all / kWorkersPerDelivery); };
  return {.workers = share(workers.workers),
          .queued = limits.watchers,
          .on_core = share(workers.on_core)};
}

WatchHub::WatchHub(const Parts& parts, WatchLimits limits)
    : store_(parts.store),
      clock_(parts.clock),
      admission_(parts.admission),
      limits_(limits),
      last_beat_(parts.clock.SinceBoot()),
      guard_("watch hub", parts.report),
      deliveries_(parts.deliveries, parts.report),
      thread_([this] { Run(); }) {}

WatchHub::~WatchHub() {
  {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

absl::StatusOr<std::shared_ptr<WatchFeed>> WatchHub::Add(const WatchStart& start,
                                                         const std::shared_ptr<Watcher>& watcher) {
  const absl::MutexLock lock(&mutex_);
  if (draining_) return StoreUnavailable("this server is stopping", Fate::kNoEffect);
  if (watchers_.size() >= limits_.watchers) return Overloaded("limits.watchers");
  Watched& watched = feeds_[start.key];
  if (watched.feed != nullptr && watched.feed->uid() != start.uid) {
    // Of a deleted session: its watchers look once more, and find that.
    watched.feed->Touch();
    watched.feed.reset();
  }
  if (watched.feed == nullptr) {
    watched.feed = std::make_shared<WatchFeed>(store_, admission_, start);
  }
  ++watched.watchers;
  watchers_.emplace(Place(start.key, watcher.get()), watcher);
  return watched.feed;
}

void WatchHub::Remove(const SessionKey& key, const Watcher& watcher) {
  std::shared_ptr<WatchFeed> last;  // ends without the lock
  const absl::MutexLock lock(&mutex_);
  if (watchers_.erase(Place(key, &watcher)) == 0) return;
  const auto watched = feeds_.find(key);
  if (--watched->second.watchers > 0) return;
  last = std::move(watched->second.feed);
  feeds_.erase(watched);
}

size_t WatchHub::Count() {
  const absl::MutexLock lock(&mutex_);
  return watchers_.size();
}

absl::Duration WatchHub::Lag() {
  absl::Duration longest;
  const absl::Time now = clock_.Wall();
  for (const auto& watcher : AllWatchers()) longest = std::max(longest, watcher->Lag(now));
  return longest;
}

void WatchHub::Drain(absl::Duration patience) {
  {
    const absl::MutexLock lock(&mutex_);
    draining_ = true;
  }
  for (const auto& watcher : AllWatchers()) watcher->Leave();
  const absl::MutexLock lock(&mutex_);
  const auto gone = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return watchers_.empty(); };
  mutex_.AwaitWithTimeout(absl::Condition(&gone), patience);
}

bool WatchHub::AwaitWatchers() {
  const absl::MutexLock lock(&mutex_);
  const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ending_ || !watchers_.empty();
  };
  mutex_.Await(absl::Condition(&wanted));
  return !ending_;
}

void WatchHub::Run() {
  while (AwaitWatchers()) {
    if (!guard_.Run([this] { AwaitEvents(); })) Pause();
    guard_.Run([this] { Beat(); });
  }
}

void WatchHub::AwaitEvents() {
  const absl::StatusOr<Wakeups> wakeups = store_.WaitForEvents(kWatchBeat);
  if (wakeups.ok()) {
    WakeThose(*wakeups);
  } else {
    Pause();  // the beat goes on without it
  }
}

void WatchHub::Pause() {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&ending_), kWatchBeat);
}

void WatchHub::ForEach(const Watchers& watchers, absl::FunctionRef<void(Watcher&)> call) {
  for (const auto& watcher : watchers) guard_.Run([&] { call(*watcher); });
}

void WatchHub::WakeThose(const Wakeups& wakeups) {
  Watchers woken;
  if (wakeups.all) {
    TouchFeeds();
    woken = AllWatchers();
  } else {
    const absl::MutexLock lock(&mutex_);
    for (const SessionKey& key : wakeups.sessions) {
      const auto watched = feeds_.find(key);
      if (watched == feeds_.end()) continue;
      watched->second.feed->Touch();
      auto at = watchers_.lower_bound(Place(key, nullptr));
      for (; at != watchers_.end() && at->first.first == key; ++at) woken.push_back(at->second);
    }
  }
  ForEach(woken, [](Watcher& watcher) { watcher.Wake(); });
}

void WatchHub::Beat() {
  const absl::Duration now = clock_.SinceBoot();
  if (now - last_beat_ < kWatchBeat) return;
  last_beat_ = now;
  TouchFeeds();
  ForEach(AllWatchers(), [now](Watcher& watcher) { watcher.Tend(now); });
  TrimFeeds();
  ForEach(NextToPoll(), [](Watcher& watcher) { watcher.Wake(); });
}

void WatchHub::TouchFeeds() {
  const absl::MutexLock lock(&mutex_);
  for (const auto& [key, watched] : feeds_) watched.feed->Touch();
}

void WatchHub::TrimFeeds() {
  const absl::MutexLock lock(&mutex_);
  for (const auto& [key, watched] : feeds_) watched.feed->Trim();
}

WatchHub::Watchers WatchHub::AllWatchers() {
  const absl::MutexLock lock(&mutex_);
  Watchers everybody;
  everybody.reserve(watchers_.size());
  for (const auto& [place, watcher] : watchers_) everybody.push_back(watcher);
  return everybody;
}

WatchHub::Watchers WatchHub::NextToPoll() {
  const absl::MutexLock lock(&mutex_);
  Watchers next;
  auto at = watchers_.upper_bound(polled_);
  while (next.size() < std::min(kWatchPollsPerBeat, watchers_.size())) {
    if (at == watchers_.end()) at = watchers_.begin();
    polled_ = at->first;
    next.push_back((at++)->second);
  }
  return next;
}

}  // namespace holdfast
