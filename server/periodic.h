// Background work on a beat of its own.
#ifndef HOLDFAST_SERVER_PERIODIC_H_
#define HOLDFAST_SERVER_PERIODIC_H_

#include "platform/clock.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <functional>
#include <thread>

namespace holdfast {

// Calls `work` about every `interval`, on a thread of its own, until it is destroyed; the first
// time after one interval. Each wait is up to a tenth longer or shorter, so that several servers do
// not beat together.
class Periodic {
 public:
  // `random` must outlive this.
  Periodic(absl::Duration interval, Random& random, std::function<void()> work);
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;
  // Waits for a call of `work` that is under way.
  ~Periodic();

 private:
  void Run();
  absl::Duration NextWait();

  const absl::Duration interval_;
  Random& random_;
  const std::function<void()> work_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PERIODIC_H_
