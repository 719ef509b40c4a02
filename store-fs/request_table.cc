#include "store-fs/request_table.h"

#include "platform/status_macros.h"
#include "platform/unlocked.h"
#include "store-fs/bounded_wait.h"

#include "absl/cleanup/cleanup.h"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::fs {

RequestKey KeyOf(const RequestId& id) {
  const std::string bytes = UuidBytes(id.value());
  RequestKey key{};
  std::ranges::copy_n(bytes.begin(), std::min(bytes.size(), key.size()), key.begin());
  return key;
}

void RequestTable::Add(RequestRow row) {
  const absl::MutexLock lock(&mutex_);
  const RequestKey key = KeyOf(row.stamp.id);
  newest_.insert_or_assign(key, next_++);
  ids_.emplace_back(key);
  unwritten_.push_back(std::move(row));
}

uint64_t RequestTable::next() {
  const absl::MutexLock lock(&mutex_);
  return next_;
}

// Rows that were added since the table was made are newer than any that is learnt.
void RequestTable::Take(const Ids& ids, uint64_t end) {
  // Some of those have left the log, and so have all that are older.
  if (first() != end) return;
  absl::Cleanup take_back = [&] {
    mutex_.AssertHeld();
    while (first() < end) ids_.pop_front();
  };
  uint64_t number = end;
  for (auto it = ids.rbegin(); it != ids.rend() && number > first_kept_; ++it) {
    --number;
    ids_.push_front(*it);
    if (*it) {
      newest_.try_emplace(**it, number);
    } else {
      last_lost_ = std::max(last_lost_, number);
    }
  }
  std::move(take_back).Cancel();
}

absl::Status RequestTable::EnsureLearnt(const Learn& learn) {
  const auto free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !learning_; };
  while (!learnt_ && learning_) {
    RETURN_IF_ERROR(AwaitBounded(mutex_, absl::Condition(&free), progress_, waiters_));
  }
  if (learnt_) return absl::OkStatus();
  learning_ = true;
  const uint64_t end = first();
  // Also after an exception: the other callers wait for it.
  const absl::Cleanup end_of_learning = [this] {
    mutex_.AssertHeld();
    learning_ = false;
    progress_.NoteMove();
  };
  absl::StatusOr<Ids> ids = absl::UnknownError("not read");
  {
    const Unlocked unlocked(mutex_);
    ids = learn(end);
  }
  RETURN_IF_ERROR(ids.status());
  Take(*ids, end);
  learnt_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<RequestTable::Known>> RequestTable::Find(const RequestId& id,
                                                                      const Learn& learn) {
  const absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(EnsureLearnt(learn));
  const auto found = newest_.find(KeyOf(id));
  if (found == newest_.end()) {
    if (last_lost_ < first() || ids_.empty()) return std::nullopt;
    return Known{.row = std::nullopt, .number = last_lost_, .lost = true};
  }
  Known known{.row = std::nullopt, .number = found->second, .lost = false};
  const uint64_t written = next_ - unwritten_.size();
  if (known.number >= written) known.row = unwritten_[known.number - written];
  return known;
}

void RequestTable::NoteWritten(uint64_t first_kept) {
  const absl::MutexLock lock(&mutex_);
  unwritten_.clear();
  first_kept_ = first_kept;
  while (!ids_.empty() && first() < first_kept) {
    const std::optional<RequestKey>& id = ids_.front();
    const auto found = id ? newest_.find(*id) : newest_.end();
    // A later row of the same id stays.
    if (found != newest_.end() && found->second == first()) newest_.erase(found);
    ids_.pop_front();
  }
}

}  // namespace holdfast::fs
