#include "server/session_waiters.h"

#include "session/limits.h"

#include <utility>

namespace holdfast {

SessionWaiters::SessionWaiters(WorkerPool& pool, LoopGuard::Report report)
    : pool_(pool),
      guard_("waiters for a session's change", std::move(report)),
      thread_([this] { Run(); }) {}

void SessionWaiters::Add(Waiter waiter) {
  auto waiting = std::make_shared<Waiting>();
  waiting->waiter = std::move(waiter);
  {
    const absl::MutexLock lock(&mutex_);
    if (!stopping_) {
      waiting_.push_back(std::move(waiting));
      return;
    }
  }
  // The thread that would wake it may have ended.
  waiting->waiter.wake(Woken::kStopping);
}

void SessionWaiters::Changed(const SessionKey& key) {
  List due;
  {
    const absl::MutexLock lock(&mutex_);
    for (const auto& waiting : waiting_) {
      if (waiting->waiter.key == key) waiting->due = true;
    }
    due = TakeDue();
  }
  Wake(std::move(due));
}

void SessionWaiters::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void SessionWaiters::Run() {
  while (AwaitBeat()) Wake(TakeDueOnBeat());
  List left;
  {
    const absl::MutexLock lock(&mutex_);
    const auto none_on_its_way = [this]()
                                     ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return waking_ == 0; };
    mutex_.Await(absl::Condition(&none_on_its_way));
    left.swap(waiting_);
  }
  for (const auto& waiting : left) {
    guard_.Run([&] { waiting->waiter.wake(Woken::kStopping); });
  }
}

bool SessionWaiters::AwaitBeat() {
  const absl::MutexLock lock(&mutex_);
  const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  };
  mutex_.Await(absl::Condition(&wanted));
  return !mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kWaitBeat);
}

SessionWaiters::List SessionWaiters::TakeDueOnBeat() {
  const absl::MutexLock lock(&mutex_);
  for (const auto& waiting : waiting_) {
    ++waiting->beats;
    bool over = true;  // one that cannot say looks itself
    if (waiting->beats < kWaitBeatsPerLook) guard_.Run([&] { over = waiting->waiter.over(); });
    if (over) waiting->due = true;
  }
  return TakeDue();
}

SessionWaiters::List SessionWaiters::TakeDue() {
  List due;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto next = std::next(it);
    if ((*it)->due) due.splice(due.end(), waiting_, it);
    it = next;
  }
  waking_ += due.size();
  return due;
}

void SessionWaiters::Wake(List due) {
  if (due.empty()) return;
  const size_t taken = due.size();
  for (auto it = due.begin(); it != due.end();) {
    const std::shared_ptr<Waiting> waiting = *it;
    bool queued = false;
    guard_.Run([&] { queued = pool_.Submit([waiting] { waiting->waiter.wake(Woken::kLook); }); });
    it = queued ? due.erase(it) : std::next(it);
  }
  // Those that the pool had no room for are due again on the next beat.
  const absl::MutexLock lock(&mutex_);
  waiting_.splice(waiting_.end(), due);
  waking_ -= taken;
}

}  // namespace holdfast
