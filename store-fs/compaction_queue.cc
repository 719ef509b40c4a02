#include "store-fs/compaction_queue.h"

#include <utility>

namespace holdfast::fs {

void CompactionQueue::Add(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  if (waiting_.size() >= kMost || !members_.insert(key).second) return;
  waiting_.push_back(key);
}

std::optional<SessionKey> CompactionQueue::Take() {
  const absl::MutexLock lock(&mutex_);
  return TakeLocked();
}

std::optional<SessionKey> CompactionQueue::TakeLocked() {
  if (waiting_.empty()) return std::nullopt;
  std::optional<SessionKey> key = std::move(waiting_.front());
  waiting_.pop_front();
  members_.erase(*key);
  return key;
}

std::optional<SessionKey> CompactionQueue::Await(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { const absl::MutexLock lock(&mutex_); });
  const auto ready = [&] {
    mutex_.AssertHeld();
    return stop.stop_requested() || !waiting_.empty();
  };
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&ready));
  return stop.stop_requested() ? std::nullopt : TakeLocked();
}

}  // namespace holdfast::fs
