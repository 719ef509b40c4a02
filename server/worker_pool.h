// Where calls wait and run: a fixed number of threads behind a bounded queue. Handlers of the
// transport hand off here at once, because a store blocks and the transport has very few threads.
#ifndef HOLDFAST_SERVER_WORKER_POOL_H_
#define HOLDFAST_SERVER_WORKER_POOL_H_

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

#include <cstddef>
#include <deque>
#include <thread>
#include <vector>

namespace holdfast {

// Any thread may call.
class WorkerPool {
 public:
  using Task = absl::AnyInvocable<void()>;

  struct Size {
    size_t workers = 1;  // threads
    size_t queued = 0;   // tasks that wait for one of them, at most
  };

  // Starts the threads.
  explicit WorkerPool(Size size);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  // Takes no more, runs what is queued, and waits for it.
  ~WorkerPool();

  // Queues `task` and answers true, or answers false, without having kept it, when the queue is
  // full. Never blocks.
  [[nodiscard]] bool Submit(Task task);

  // How many tasks wait now.
  [[nodiscard]] size_t Queued();
  [[nodiscard]] size_t workers() const { return threads_.size(); }

 private:
  // A thread with nothing to do waits for a task of its own.
  struct Idle {
    Task task;
    absl::CondVar given;
  };

  void Work();
  // The next task, or an empty one when the pool has stopped and nothing is left.
  Task Take();

  const size_t most_queued_;
  absl::Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  // The most recently idle one last: it is woken first, since the processor still knows it.
  std::vector<Idle*> idle_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_WORKER_POOL_H_
