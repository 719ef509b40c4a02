#include "server/turn_waiters.h"

#include "session/limits.h"

#include <utility>

namespace holdfast {

TurnWaiters::TurnWaiters(WorkerPool& pool) : pool_(pool), thread_([this] { Run(); }) {}

void TurnWaiters::Add(Waiter waiter) {
  auto waiting = std::make_shared<Waiting>();
  waiting->waiter = std::move(waiter);
  {
    const absl::MutexLock lock(&mutex_);
    if (!stopping_) {
      waiting_.push_back(std::move(waiting));
      return;
    }
  }
  // The thread that would wake it may have gone.
  waiting->waiter.wake(Woken::kStopping);
}

void TurnWaiters::TurnEnded(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  if (waiting_.empty()) return;
  for (const auto& waiting : waiting_) {
    if (waiting->waiter.key == key) waiting->due = true;
  }
  WakeDue();
}

void TurnWaiters::Stop() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

// Goes on after Stop until nobody waits any more.
void TurnWaiters::Run() {
  absl::MutexLock lock(&mutex_);
  const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  };
  for (;;) {
    mutex_.Await(absl::Condition(&wanted));
    if (stopping_ && waiting_.empty()) return;
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kDrainBeat);
    for (const auto& waiting : waiting_) {
      ++waiting->beats;
      if (stopping_ || waiting->beats >= kDrainBeatsPerLook || waiting->waiter.over()) {
        waiting->due = true;
      }
    }
    WakeDue();
  }
}

void TurnWaiters::WakeDue() {
  const Woken why = stopping_ ? Woken::kStopping : Woken::kLook;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const std::shared_ptr<Waiting> waiting = *it;
    const bool handed_over =
        waiting->due && pool_.Submit([waiting, why] { waiting->waiter.wake(why); });
    it = handed_over ? waiting_.erase(it) : std::next(it);
  }
}

}  // namespace holdfast
