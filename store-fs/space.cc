#include "store-fs/space.h"

#include "session/refusal.h"

#include <algorithm>

namespace holdfast::fs {
namespace {

constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLongestPause = absl::Minutes(1);

absl::Status Full() { return StorageFull("there is no space left for this change"); }

}  // namespace

void Space::PutOff(std::function<absl::Status()> finish) {
  const absl::MutexLock lock(&mutex_);
  finish_ = std::move(finish);
  is_put_off_.store(true, std::memory_order_release);
}

absl::Status Space::Check() {
  if (!is_put_off_.load(std::memory_order_acquire)) return absl::OkStatus();
  const absl::MutexLock lock(&mutex_);
  if (!finish_) return absl::OkStatus();
  const absl::Duration now = clock_.SinceBoot();
  if (now < next_try_) return Full();
  next_try_ = now + kFirstPause;
  absl::Status finished = finish_();
  if (absl::IsResourceExhausted(finished)) return Ended();
  if (!finished.ok()) return finished;
  finish_ = nullptr;
  is_put_off_.store(false, std::memory_order_release);
  Taken();
  return finished;
}

absl::Status Space::Ended() {
  if (!ended_.exchange(true) && note_) {
    note_("no space is left: what is stored is served, and changes are refused with STORAGE_FULL");
  }
  return Full();
}

void Space::Taken() {
  if (!ended_.load(std::memory_order_acquire)) return;
  if (ended_.exchange(false) && note_) note_("there is space again");
}

void Backoff::Fail(absl::Duration now) {
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  next_ = now + pause_;
}

}  // namespace holdfast::fs
