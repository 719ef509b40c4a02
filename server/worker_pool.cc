#include "server/worker_pool.h"

#include <utility>

namespace holdfast {

WorkerPool::WorkerPool(Size size) : most_queued_(size.queued) {
  threads_.reserve(size.workers);
  for (size_t i = 0; i < size.workers; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    for (Idle* idle : idle_) idle->given.Signal();
  }
  threads_.clear();  // joins
}

bool WorkerPool::Submit(Task task) {
  const absl::MutexLock lock(&mutex_);
  if (stopping_) return false;
  if (!idle_.empty()) {
    Idle* next = idle_.back();
    idle_.pop_back();
    next->task = std::move(task);
    next->given.Signal();
    return true;
  }
  if (tasks_.size() >= most_queued_) return false;
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
  const absl::MutexLock lock(&mutex_);
  if (!tasks_.empty()) {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }
  if (stopping_) return nullptr;
  Idle idle;
  idle_.push_back(&idle);
  while (!idle.task && !stopping_) idle.given.Wait(&mutex_);
  return std::move(idle.task);
}

}  // namespace holdfast
