// Calls that wait for the end of a session's turn and hold no worker meanwhile.
#ifndef HOLDFAST_SERVER_TURN_WAITERS_H_
#define HOLDFAST_SERVER_TURN_WAITERS_H_

#include "server/worker_pool.h"
#include "session/ids.h"

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

#include <cstdint>
#include <list>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast {

// Any thread may call. A thread of its own asks on a beat who still waits, and lets everybody look
// now and then, for a turn that ended on another server.
class TurnWaiters {
 public:
  enum class Woken : uint8_t {
    kLook,      // something may have changed
    kStopping,  // the server stops: wait no longer
  };

  struct Waiter {
    SessionKey key;
    // Whether waiting has no more sense: quick, asked on every beat.
    absl::AnyInvocable<bool()> over;
    // Called once, on a worker, or by Add once Stop was called. Whoever still waits adds itself
    // again.
    absl::AnyInvocable<void(Woken)> wake;
  };

  // `pool` must outlive this.
  explicit TurnWaiters(WorkerPool& pool);
  TurnWaiters(const TurnWaiters&) = delete;
  TurnWaiters& operator=(const TurnWaiters&) = delete;
  ~TurnWaiters() { Stop(); }

  void Add(Waiter waiter);
  // A turn of this session has ended here: wakes whoever waits for it.
  void TurnEnded(const SessionKey& key);
  // Wakes everybody. Whoever comes later is woken by Add itself.
  void Stop();

 private:
  struct Waiting {
    Waiter waiter;
    int beats = 0;  // since it was added
    bool due = false;
  };
  using List = std::list<std::shared_ptr<Waiting>>;

  void Run();
  // Hands over those who are due; one that the pool has no room for stays.
  void WakeDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WorkerPool& pool_;
  absl::Mutex mutex_;
  List waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TURN_WAITERS_H_
