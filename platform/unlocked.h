// Gives a mutex away for the length of a scope, however the scope ends.
//
//   const absl::MutexLock lock(&mutex_);
//   ...
//   const Unlocked unlocked(mutex_);
#ifndef HOLDFAST_PLATFORM_UNLOCKED_H_
#define HOLDFAST_PLATFORM_UNLOCKED_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

class Unlocked {
 public:
  // The caller holds `mutex`, which outlives this.
  explicit Unlocked(absl::Mutex& mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) {
    mutex_.Unlock();
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }

 private:
  absl::Mutex& mutex_;
};

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_UNLOCKED_H_
