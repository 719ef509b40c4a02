// Marks a section in which a thread blocks on something other than a core: a disk, the network,
// another thread. The observer of the thread gives its core to another one meanwhile.
//
//   const ScopedBlockingCall blocking(ScopedBlockingCall::Resume::kQueued);
//   fdatasync(fd);
#ifndef HOLDFAST_PLATFORM_SCOPED_BLOCKING_CALL_H_
#define HOLDFAST_PLATFORM_SCOPED_BLOCKING_CALL_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>

namespace holdfast {

// Of the thread that makes it. A nested one has no effect.
class ScopedBlockingCall {
 public:
  // When a thread continues once it no longer blocks.
  enum class Resume : uint8_t {
    // At once, for other threads may be waiting for what this thread holds.
    kImmediately,
    // When a core is free, in the order in which the sections end. One sync of a disk releases many
    // threads, and all of them at once would leave the transport no time. Not for a thread that
    // holds a mutex which other threads block on.
    kQueued,
  };

  // Called on the thread that blocks.
  class Observer {
   public:
    virtual ~Observer() = default;
    // Must not block.
    virtual void BlockingStarted() = 0;
    // With kQueued: returns when there is a core for this thread, or after a bounded time.
    virtual void BlockingEnded(Resume resume) = 0;
  };

  // The outermost one on a thread determines how it resumes.
  explicit ScopedBlockingCall(Resume resume = Resume::kImmediately);
  ScopedBlockingCall(const ScopedBlockingCall&) = delete;
  ScopedBlockingCall& operator=(const ScopedBlockingCall&) = delete;
  ~ScopedBlockingCall();

  // From now on `observer`, which must outlive the thread, is called for its sections.
  static void ObserveThisThread(Observer& observer);

 private:
  const Resume resume_;
};

// Waits for `condition` on `mutex`, in a ScopedBlockingCall unless it holds already.
inline void AwaitBlocking(absl::Mutex& mutex, const absl::Condition& condition)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  if (condition.Eval()) return;
  const ScopedBlockingCall blocking;
  mutex.Await(condition);
}

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_SCOPED_BLOCKING_CALL_H_
