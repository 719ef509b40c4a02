// Whether the disk has room for what the store must write, as the last attempt found it. Without
// room the store still serves reads; it notes for the operator when the room ends and when there is
// some again.
#ifndef HOLDFAST_STORE_FS_SPACE_H_
#define HOLDFAST_STORE_FS_SPACE_H_

#include "platform/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace holdfast::fs {

// Any thread may call.
class Space {
 public:
  using Note = std::function<void(const std::string& what)>;

  // `clock` must outlive this.
  Space(const Clock& clock, Note note) : clock_(clock), note_(std::move(note)) {}

  // What a start writes had no room: `finish` writes it, and before that no session is written.
  void PutOff(std::function<absl::Status()> finish);
  // OK when sessions may be written. Tries at most once a second what was put off, and answers what
  // that came to; STORAGE_FULL in between.
  absl::Status Check();

  // Something found no room. Returns the refusal of the call that needed it.
  absl::Status Ended();
  // Something that needed room found it.
  void Taken();
  [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }

 private:
  const Clock& clock_;
  const Note note_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> is_put_off_ = false;
  absl::Mutex mutex_;  // also around what was put off: until it is written nothing else is
  std::function<absl::Status()> finish_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_try_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

// When something that failed is to be tried again: the pause doubles, up to a minute. For one
// thread at a time.
class Backoff {
 public:
  // Whether it is time, by the clock of `now`.
  [[nodiscard]] bool IsDue(absl::Duration now) const { return now >= next_; }
  void Fail(absl::Duration now);
  void Succeed() { *this = Backoff(); }
  [[nodiscard]] bool failed() const { return pause_ > absl::ZeroDuration(); }

 private:
  absl::Duration pause_;
  absl::Duration next_ = -absl::InfiniteDuration();
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_SPACE_H_
