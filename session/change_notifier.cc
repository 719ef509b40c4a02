#include "session/change_notifier.h"

#include "session/limits.h"
#include "session/refusal.h"

namespace holdfast {

void ChangeNotifier::Notify(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  if (all_) return;
  changed_.insert(key);
  if (changed_.size() <= kWakeupsMost) return;
  changed_.clear();
  all_ = true;
}

void ChangeNotifier::NotifyAll() {
  const absl::MutexLock lock(&mutex_);
  changed_.clear();
  all_ = true;
}

absl::StatusOr<Wakeups> ChangeNotifier::Wait(absl::Duration at_most) {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(this, &ChangeNotifier::HasNews), at_most);
  if (shut_down_) return StoreUnavailable("the store is closing", Fate::kNoEffect);
  Wakeups wakeups{.sessions = {changed_.begin(), changed_.end()}, .all = all_};
  changed_.clear();
  all_ = false;
  return wakeups;
}

void ChangeNotifier::Shutdown() {
  const absl::MutexLock lock(&mutex_);
  shut_down_ = true;
}

}  // namespace holdfast
