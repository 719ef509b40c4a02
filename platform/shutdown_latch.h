// Counts the calls in progress in a store, so that its shutdown can wait for them.
//
//   const ShutdownLatch::Entry entry(latch);
//   if (!entry.entered()) return StoreUnavailable("the store is closing", Fate::kNoEffect);
#ifndef HOLDFAST_PLATFORM_SHUTDOWN_LATCH_H_
#define HOLDFAST_PLATFORM_SHUTDOWN_LATCH_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Any thread may call.
class ShutdownLatch {
 public:
  // Of one call: counted from its construction to its destruction, unless the latch is closed.
  class Entry {
   public:
    explicit Entry(ShutdownLatch& latch) : latch_(latch), entered_(latch.Enter()) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (entered_) latch_.Leave();
    }

    [[nodiscard]] bool entered() const { return entered_; }

   private:
    ShutdownLatch& latch_;
    const bool entered_;
  };

  // Admits no further call and waits for those in progress.
  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return in_progress_ == 0; };
    mutex_.Await(absl::Condition(&empty));
  }

 private:
  bool Enter() {
    const absl::MutexLock lock(&mutex_);
    if (closed_) return false;
    ++in_progress_;
    return true;
  }
  void Leave() {
    const absl::MutexLock lock(&mutex_);
    --in_progress_;
  }

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int in_progress_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_SHUTDOWN_LATCH_H_
