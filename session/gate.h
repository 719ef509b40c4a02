// Counts the calls inside a store, so that its end can wait for them.
//
//   if (!gate.Enter()) return StoreUnavailable("the store is closing", Fate::kNoEffect);
//   ...
//   gate.Leave();
#ifndef HOLDFAST_SESSION_GATE_H_
#define HOLDFAST_SESSION_GATE_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Any thread may call.
class Gate {
 public:
  // Whether the caller may go in; it must leave then.
  bool Enter() {
    const absl::MutexLock lock(&mutex_);
    if (closed_) return false;
    ++inside_;
    return true;
  }
  void Leave() {
    const absl::MutexLock lock(&mutex_);
    --inside_;
  }
  // Lets nobody in any more and waits for those inside.
  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    const auto empty = [this] { return inside_ == 0; };
    mutex_.Await(absl::Condition(&empty));
  }

 private:
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_GATE_H_
