#include "server/rpc/call/open_streams.h"

#include <memory>
#include <utility>

namespace holdfast {

void OpenStreams::Add(OpenStream* stream) {
  const absl::MutexLock lock(&mutex_);
  streams_.insert(stream);
  if (draining_) stream->Drain();
}

void OpenStreams::Remove(OpenStream* stream) {
  const absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

void OpenStreams::DrainAll() {
  const absl::MutexLock lock(&mutex_);
  draining_ = true;
  for (OpenStream* stream : streams_) stream->Drain();
}

void OpenStreams::Tend(absl::Duration now) {
  const absl::MutexLock lock(&mutex_);
  for (OpenStream* stream : streams_) stream->Tend(now);
  while (!deferred_.empty()) {
    // Shared, so that a task the pool does not take is still here.
    const auto task = std::make_shared<WorkerPool::Task>(std::move(deferred_.front()));
    if (!pool_.Submit([task] { (*task)(); })) {
      deferred_.front() = std::move(*task);
      return;
    }
    deferred_.pop_front();
  }
}

void OpenStreams::Defer(WorkerPool::Task task) {
  const absl::MutexLock lock(&mutex_);
  deferred_.push_back(std::move(task));
}

void OpenStreams::RunDeferred() {
  std::deque<WorkerPool::Task> tasks;
  {
    const absl::MutexLock lock(&mutex_);
    tasks.swap(deferred_);
  }
  for (WorkerPool::Task& task : tasks) task();
}

size_t OpenStreams::Count() {
  const absl::MutexLock lock(&mutex_);
  return streams_.size();
}

}  // namespace holdfast
