#include "session/event_bell.h"

#include "session/limits.h"
#include "session/refusal.h"
#include "session/saboteur.h"

namespace holdfast {

void EventBell::Ring(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  if (all_) return;
  rung_.insert(key);
  if (rung_.size() <= kWakeupsMost) return;
  rung_.clear();
  all_ = true;
}

void EventBell::RingForAll() {
  const absl::MutexLock lock(&mutex_);
  rung_.clear();
  all_ = !Sabotaged(Saboteur::kLoseOverflow);
}

absl::StatusOr<Wakeups> EventBell::Wait(absl::Duration at_most) {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(this, &EventBell::HasNews), at_most);
  if (silent_) return StoreUnavailable("the store is closing", Fate::kNoEffect);
  Wakeups wakeups{.sessions = {rung_.begin(), rung_.end()}, .all = all_};
  rung_.clear();
  all_ = false;
  return wakeups;
}

void EventBell::Silence() {
  const absl::MutexLock lock(&mutex_);
  silent_ = true;
}

}  // namespace holdfast
