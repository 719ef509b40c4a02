// Where calls wait and run: a fixed number of threads behind a bounded queue. Handlers of the
// transport hand off here at once, because a store blocks and the transport has very few threads.
// Most workers wait for a disk or a database. Those that do not compete with the transport for the
// cores, so a task is begun only when few of them do: otherwise a server that is offered more than
// it can do has no time left for refusing it.
#ifndef HOLDFAST_SERVER_WORKER_POOL_H_
#define HOLDFAST_SERVER_WORKER_POOL_H_

#include "platform/scoped_blocking_call.h"
#include "session/limits.h"

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {

// Any thread may call.
class WorkerPool final : private ScopedBlockingCall::Observer {
 public:
  using Task = absl::AnyInvocable<void()>;

  static constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

  struct Size {
    size_t workers = 1;  // threads
    size_t queued = 0;   // tasks that wait for one of them, at most
    // No task is begun while so many threads want a core: run outside of a ScopedBlockingCall.
    // Threads that resume queued wait meanwhile too.
    size_t on_core = kNoLimit;
    // For so long at most: a running thread may be blocked on a resource that such a thread holds.
    absl::Duration resume_wait_most = kResumeWaitMost;
  };

  // Takes the text of an exception that left a task. Any worker calls it.
  using ReportException = std::function<void(const std::string& what)>;

  // Starts the threads.
  explicit WorkerPool(Size size, ReportException report = nullptr);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  // Takes no more, runs what is queued, and waits for it.
  ~WorkerPool() override;

  // Queues `task` and answers true, or answers false, without having kept it, when the queue is
  // full. Never blocks.
  [[nodiscard]] bool Submit(Task task);
  // The same for a call that had its place in a queue before: it is taken whether the queue is full
  // or not.
  void SubmitAgain(Task task);

  // For a queue beside the pool's, whose calls count in the same bound. EnterQueue takes a place
  // for one, or answers false when there is none; LeaveQueue gives it back.
  [[nodiscard]] bool EnterQueue();
  void LeaveQueue();

  // Counts the thread that makes it among those that want a core, outside of a ScopedBlockingCall.
  // It always resumes immediately, because many calls wait for it. It must not run a task of the
  // pool. The pool outlives the thread.
  class Guest final : private ScopedBlockingCall::Observer {
   public:
    explicit Guest(WorkerPool& pool);
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    ~Guest() override { pool_.BlockingStarted(); }

   private:
    void BlockingStarted() override { pool_.BlockingStarted(); }
    void BlockingEnded(ScopedBlockingCall::Resume) override {
      pool_.BlockingEnded(ScopedBlockingCall::Resume::kImmediately);
    }

    WorkerPool& pool_;
  };

  // Counts an exception that ended a call's work, for one that caught it before the pool had to.
  void CountException() { exceptions_.fetch_add(1, std::memory_order_relaxed); }
  // Exceptions that ended a task or a call's work so far; each is a defect.
  [[nodiscard]] uint64_t Exceptions() const { return exceptions_.load(std::memory_order_relaxed); }

  // What is there now.
  struct Load {
    size_t queued = 0;      // tasks that wait, and calls in the queue beside
    absl::Duration oldest;  // how long the first of the tasks has waited
    size_t busy = 0;        // workers that run a task
    size_t on_core = 0;     // of them, those outside of a ScopedBlockingCall
  };
  [[nodiscard]] Load CurrentLoad();

  // What a watchdog looks at.
  struct Activity {
    // Tasks begun or ended and waits begun or ended so far.
    uint64_t steps = 0;
    // Tasks wait because as many as may, or all threads there are, want a core already. Not so
    // where threads are missing that wait for something else.
    bool wait_for_core = false;
  };
  [[nodiscard]] Activity CurrentActivity();

  [[nodiscard]] size_t workers() const { return threads_.size(); }

 private:
  struct Waiting {
    Task task;
    absl::Duration since;
  };
  // A thread with nothing to do waits for a task of its own.
  struct Idle {
    Task task;
    absl::CondVar given;
  };

  // A thread whose blocking call has ended, in the queue for a core.
  struct Resuming {
    absl::CondVar given;
    bool resumed = false;
  };

  // A worker blocks, and wants a core again.
  void BlockingStarted() override;
  void BlockingEnded(ScopedBlockingCall::Resume resume) override;

  void Work();
  // The last place where an exception is caught: the worker goes on with the next task.
  void Run(Task task);
  // The next task, or an empty one when the pool has stopped and nothing is left.
  Task Take();
  bool MayBegin() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return on_core_ < most_on_core_; }
  // A thread wants no core any more. Its share goes to the first of resuming_, if there is one.
  void GiveShare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool IsFull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins `task` or queues it.
  void Accept(Task task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives `task` to an idle thread, of which there is one.
  void Begin(Task task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Task TakeQueued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_queued_;
  const size_t most_on_core_;
  const absl::Duration resume_wait_most_;
  const ReportException report_;
  std::atomic<uint64_t> exceptions_ = 0;
  absl::Mutex mutex_;
  // None waits for an idle thread that might begin it.
  std::deque<Waiting> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t queued_beside_ ABSL_GUARDED_BY(mutex_) = 0;
  // Threads that run a task, or come for their first one, outside of a ScopedBlockingCall.
  size_t on_core_ ABSL_GUARDED_BY(mutex_);
  // First in, first out. Empty while fewer threads want a core than may. Never longer than its
  // capacity: to wait for a core must not throw.
  std::vector<Resuming*> resuming_ ABSL_GUARDED_BY(mutex_);
  uint64_t steps_ ABSL_GUARDED_BY(mutex_) = 0;
  // The most recently idle one last: it is woken first, since the processor still knows it.
  std::vector<Idle*> idle_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_WORKER_POOL_H_
