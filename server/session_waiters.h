// Calls that wait for a change of a session, and hold no worker meanwhile.
#ifndef HOLDFAST_SERVER_SESSION_WAITERS_H_
#define HOLDFAST_SERVER_SESSION_WAITERS_H_

#include "platform/exceptions.h"
#include "server/worker_pool.h"
#include "session/ids.h"

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast {

// Any thread may call. A thread of its own asks on a beat which calls still wait, and lets all of
// them look now and then, for what changed on another server, or by time.
class SessionWaiters {
 public:
  enum class Woken : uint8_t {
    kLook,      // something may have changed
    kStopping,  // the server stops: wait no longer
  };

  struct Waiter {
    SessionKey key;
    // Whether waiting has no more sense: quick, asked on every beat.
    absl::AnyInvocable<bool()> over;
    // Called once, and never under a lock of this class: with kLook on a worker, and once Stop was
    // called with kStopping on any thread, which it must not block. A call that still waits adds
    // itself again.
    absl::AnyInvocable<void(Woken)> wake;
  };

  // `pool` must outlive this; `report` takes the text of an exception that left a waiter.
  explicit SessionWaiters(WorkerPool& pool, LoopGuard::Report report = nullptr);
  SessionWaiters(const SessionWaiters&) = delete;
  SessionWaiters& operator=(const SessionWaiters&) = delete;
  ~SessionWaiters() { Stop(); }

  void Add(Waiter waiter);
  // A turn or a lease of this session has ended here: wakes the calls that wait for that.
  void Changed(const SessionKey& key);
  // Wakes all calls with kStopping, without the pool, and returns when it has; one that is added
  // later is woken by Add itself.
  void Stop();

 private:
  struct Waiting {
    Waiter waiter;
    int beats = 0;  // since it was added
    bool due = false;
  };
  using List = std::list<std::shared_ptr<Waiting>>;

  void Run();
  // Waits for a beat with something to look after; false when this is to stop.
  bool AwaitBeat();
  List TakeDueOnBeat();
  List TakeDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hands what was taken to the pool. What it has no room for is put back.
  void Wake(List due);

  WorkerPool& pool_;
  LoopGuard guard_;
  absl::Mutex mutex_;
  List waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waking_ ABSL_GUARDED_BY(mutex_) = 0;  // that were taken and are not yet handed over
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SESSION_WAITERS_H_
