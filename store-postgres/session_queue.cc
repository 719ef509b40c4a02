#include "store-postgres/session_queue.h"

#include "platform/scoped_blocking_call.h"
#include "session/limits.h"

#include <cstdint>
#include <memory>

namespace holdfast::pg {

absl::Status SessionQueue::Acquire(const SessionKey& key, WhenLocked when_locked) {
  const absl::MutexLock lock(&mutex_);
  std::unique_ptr<Session>& place = sessions_[key];
  if (place == nullptr) {
    place = std::make_unique<Session>();
    return absl::OkStatus();
  }
  if (when_locked == WhenLocked::kRefuse) return SessionBusy();
  Session& session = *place;
  if (session.progress.stalled() && session.waiting.size() >= kWaitersPerSession) {
    return SessionBusy();
  }
  Waiter self;
  session.waiting.push_back(&self);
  const ScopedBlockingCall blocking;
  while (!self.Ended()) {
    const uint64_t seen = session.progress.moves();
    const absl::Condition ended(&self, &Waiter::Ended);
    if (mutex_.AwaitWithTimeout(ended, kSessionStalledAfter)) break;
    session.progress.NoteTimeout(seen);
    if (session.progress.stalled()) RefuseCrowd(session);
  }
  if (self.called) return absl::OkStatus();
  return SessionBusy();
}

void SessionQueue::RefuseCrowd(Session& session) {
  while (session.waiting.size() > kWaitersPerSession) {
    session.waiting.back()->refused = true;
    session.waiting.pop_back();
  }
}

void SessionQueue::Release(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto place = sessions_.find(key);
  Session& session = *place->second;
  if (session.waiting.empty()) {
    sessions_.erase(place);
    return;
  }
  session.progress.NoteMove();
  session.waiting.front()->called = true;
  session.waiting.pop_front();
}

}  // namespace holdfast::pg
