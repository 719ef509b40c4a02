// Counts the calls inside a store, so that its end can wait for them.
//
//   const Gate::Pass pass(gate);
//   if (!pass.entered()) return StoreUnavailable("the store is closing", Fate::kNoEffect);
#ifndef HOLDFAST_SESSION_GATE_H_
#define HOLDFAST_SESSION_GATE_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Any thread may call.
class Gate {
 public:
  // Of one call: inside from its beginning until it goes away, unless the gate is closed.
  class Pass {
   public:
    explicit Pass(Gate& gate) : gate_(gate), entered_(gate.Enter()) {}
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass() {
      if (entered_) gate_.Leave();
    }

    [[nodiscard]] bool entered() const { return entered_; }

   private:
    Gate& gate_;
    const bool entered_;
  };

  // Admits no further call and waits for those inside.
  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    const auto empty = [this] { return inside_ == 0; };
    mutex_.Await(absl::Condition(&empty));
  }

 private:
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

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_GATE_H_
