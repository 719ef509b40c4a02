#include "store-fs/lease_table.h"

#include "session/cancel_requests.h"

#include <algorithm>
#include <iterator>

namespace holdfast::fs {
namespace {

// Rows that are looked at for each one that is added: enough for what is not needed to go sooner
// than it comes.
constexpr int kRowsLookedAt = 4;

}  // namespace

void LeaseTable::Evaluate(const SessionKey& key, Head& head) {
  LeaseRecord& lease = head.lease;
  lease.state = LeaseState::kFree;
  lease.expires_in = absl::ZeroDuration();
  if (!lease.held) return;
  absl::Duration deadline = opened_ + lease.ttl;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end() && found->second->second.epoch == lease.epoch) {
      deadline = found->second->second.deadline;
    }
  }
  const absl::Duration left = deadline - clock_.SinceBoot();
  lease.state = left > absl::ZeroDuration() ? LeaseState::kLive : LeaseState::kExpired;
  lease.expires_in = std::max(left, absl::ZeroDuration());
}

// Without a row a lease ends one TTL behind the opening and the session is quiet since then. That
// decides nothing about a session without a turn whose lease is over either way.
bool LeaseTable::IsNeeded(const Entry& entry, absl::Duration now) const {
  const bool over = entry.deadline <= now && opened_ + kLeaseTtlMost <= now;
  return entry.active || (entry.held && !over);
}

void LeaseTable::MakeRoom(absl::Duration now) {
  for (int looks = 0; looks < kRowsLookedAt && rows_.size() > most_; ++looks) {
    const auto last = std::prev(rows_.end());
    if (IsNeeded(last->second, now)) {
      rows_.splice(rows_.begin(), rows_, last);
    } else {
      by_key_.erase(last->first);
      rows_.erase(last);
    }
  }
}

LeaseTable::Entry& LeaseTable::Use(const SessionKey& key) {
  const absl::Duration now = clock_.SinceBoot();
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    MakeRoom(now);
    rows_.emplace_front(key, Entry());
    by_key_.emplace(key, rows_.begin());
  } else {
    rows_.splice(rows_.begin(), rows_, found->second);
  }
  return rows_.front().second;
}

void LeaseTable::Renew(const SessionKey& key, const Head& head, absl::Duration ttl) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  Entry& entry = Use(key);
  if (entry.epoch > head.lease.epoch) return;  // a later grant was faster
  entry.epoch = head.lease.epoch;
  entry.deadline = now + ttl;
  entry.touched = now;
  entry.held = true;
  // A commit beside it may have begun a turn that `head` does not show yet.
  entry.active = entry.active || head.turn.has_value();
}

void LeaseTable::NoteChange(const SessionKey& key, const Head& head,
                            std::optional<absl::Duration> ttl) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  Entry& entry = Use(key);
  entry.touched = now;
  entry.held = head.lease.held;
  entry.active = head.turn.has_value();
  if (!ttl || !head.lease.held) return;
  entry.epoch = head.lease.epoch;
  entry.deadline = now + *ttl;
}

void LeaseTable::Forget(const SessionKey& key) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    rows_.erase(found->second);
    by_key_.erase(found);
  }
  cancel_requested_.erase(key);
}

void LeaseTable::NoteCancelRequests(const SessionKey& key, const Head& head) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  if (EndingCancelRequest(head) != nullptr) {
    cancel_requested_.try_emplace(key, now);
  } else if (!cancel_requested_.empty()) {
    cancel_requested_.erase(key);
  }
}

absl::Duration LeaseTable::CancelRequestedFor(const SessionKey& key) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  const auto found = cancel_requested_.find(key);
  return now - (found == cancel_requested_.end() ? opened_ : found->second);
}

absl::Duration LeaseTable::Quiet(const SessionKey& key) {
  const absl::Duration now = clock_.SinceBoot();
  const absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  const absl::Duration touched =
      found == by_key_.end() ? opened_ : std::max(opened_, found->second->second.touched);
  return now - touched;
}

size_t LeaseTable::rows() {
  const absl::MutexLock lock(&mutex_);
  return rows_.size();
}

}  // namespace holdfast::fs
