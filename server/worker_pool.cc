#include "server/worker_pool.h"

#include <utility>

namespace holdfast {

WorkerPool::WorkerPool(size_t workers, size_t queued) : most_queued_(queued) {
  threads_.reserve(workers);
  for (size_t i = 0; i < workers; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  threads_.clear();  // joins
}

bool WorkerPool::Submit(Task task) {
  const absl::MutexLock lock(&mutex_);
  // A task that an idle worker is about to take does not wait, so it is not counted as waiting.
  if (stopping_ || tasks_.size() >= most_queued_ + idle_) return false;
  tasks_.push_back(std::move(task));
  return true;
}

size_t WorkerPool::Queued() {
  const absl::MutexLock lock(&mutex_);
  return tasks_.size();
}

void WorkerPool::Work() {
  while (Task task = Take()) std::move(task)();
}

WorkerPool::Task WorkerPool::Take() {
  absl::MutexLock lock(&mutex_);
  ++idle_;
  mutex_.Await(absl::Condition(this, &WorkerPool::HasWorkOrStops));
  --idle_;
  if (tasks_.empty()) return nullptr;
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  return task;
}

}  // namespace holdfast
