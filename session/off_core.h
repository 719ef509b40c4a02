// Says that a thread waits for something else than a core for a while: a disk, the network, another
// thread. Whoever shares out the cores gives this one's share to somebody else meanwhile.
//
//   const OffCore waiting(OffCore::Back::kInTurn);
//   fdatasync(fd);
#ifndef HOLDFAST_SESSION_OFF_CORE_H_
#define HOLDFAST_SESSION_OFF_CORE_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>

namespace holdfast {

// Of the thread that makes it. One within another says nothing more.
class OffCore {
 public:
  // How a thread comes back from a wait.
  enum class Back : uint8_t {
    // Without another wait, for others may be waiting for what this thread holds.
    kAtOnce,
    // In the order of their returns. One sync of a disk releases many threads, and all of them at
    // once would leave the transport no time. Not for a thread that holds a mutex which other
    // threads block on.
    kInTurn,
  };

  // Told on the thread that waits.
  class Sharer {
   public:
    virtual ~Sharer() = default;
    // Must not block.
    virtual void Leave() = 0;
    // In turn: returns when there is a share for this thread, or soon all the same.
    virtual void Return(Back back) = 0;
  };

  // The outermost one on a thread says how it comes back.
  explicit OffCore(Back back = Back::kAtOnce);
  OffCore(const OffCore&) = delete;
  OffCore& operator=(const OffCore&) = delete;
  ~OffCore();

  // From now on `sharer`, which must outlive the thread, is told of this thread's waits.
  static void TellOfThisThread(Sharer& sharer);

 private:
  const Back back_;
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
