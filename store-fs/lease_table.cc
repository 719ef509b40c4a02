#include "store-fs/lease_table.h"

#include "session/marks.h"

#include <algorithm>

namespace holdfast::fs {

void LeaseTable::Evaluate(const SessionKey& key, Head& head) {
  LeaseRecord& lease = head.lease;
  lease.state = LeaseState::kFree;
  lease.expires_in = absl::ZeroDuration();
  if (!lease.held) return;
  absl::Duration deadline = opened_ + lease.ttl;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.epoch == lease.epoch) {
      deadline = found->second.deadline;
    }
  }
  const absl::Duration left = deadline - clock_.SinceBoot();
  lease.state = left > absl::ZeroDuration() ? LeaseState::kLive : LeaseState::kExpired;
  lease.expires_in = std::max(left, absl::ZeroDuration());
}

void LeaseTable::Renew(const SessionKey& key, Epoch epoch, absl::Duration ttl) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  Entry& entry = entries_[key];
  if (entry.epoch > epoch) return;  // a later grant was faster
  entry = {.epoch = epoch, .deadline = now + ttl, .touched = now};
}

void LeaseTable::Touch(const SessionKey& key) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  entries_[key].touched = now;
}

void LeaseTable::Forget(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  entries_.erase(key);
  marked_.erase(key);
}

void LeaseTable::NoteMarks(const SessionKey& key, const Head& head) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  if (EndingMark(head) != nullptr) {
    marked_.try_emplace(key, now);
  } else if (!marked_.empty()) {
    marked_.erase(key);
  }
}

absl::Duration LeaseTable::MarkedFor(const SessionKey& key) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  const auto found = marked_.find(key);
  return now - (found == marked_.end() ? opened_ : found->second);
}

absl::Duration LeaseTable::Quiet(const SessionKey& key) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(key);
  const absl::Duration touched =
      found == entries_.end() ? opened_ : std::max(opened_, found->second.touched);
  return now - touched;
}

}  // namespace holdfast::fs
