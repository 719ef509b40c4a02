// Says that a thread waits for something else than a core for a while: a disk, the network, another
// thread. Whoever shares out the cores gives this one's share to somebody else meanwhile.
//
//   const OffCore waiting;
//   fdatasync(fd);
#ifndef HOLDFAST_SESSION_OFF_CORE_H_
#define HOLDFAST_SESSION_OFF_CORE_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Of the thread that makes it. One within another says nothing more.
class OffCore {
 public:
  // Told on the thread that waits. Neither call may wait for another thread's share, since others
  // may be waiting for what this thread holds.
  class Sharer {
   public:
    virtual ~Sharer() = default;
    virtual void Leave() = 0;
    virtual void Return() = 0;
  };

  OffCore();
  OffCore(const OffCore&) = delete;
  OffCore& operator=(const OffCore&) = delete;
  ~OffCore();

  // From now on `sharer`, which must outlive the thread, is told of this thread's waits.
  static void TellOfThisThread(Sharer& sharer);
};

// Waits for `condition` on `mutex`, off the core when it is not so yet.
inline void AwaitOffCore(absl::Mutex& mutex, const absl::Condition& condition)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  if (condition.Eval()) return;
  const OffCore waiting;
  mutex.Await(condition);
}

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_OFF_CORE_H_
