#include "server/worker_pool.h"

#include "platform/clock.h"
#include "platform/exceptions.h"

#include <algorithm>
#include <utility>

namespace holdfast {

WorkerPool::WorkerPool(Size size, ReportException report)
    : most_queued_(size.queued),
      most_on_core_(size.on_core),
      resume_wait_most_(size.resume_wait_most),
      report_(std::move(report)),
      on_core_(size.workers) {
  resuming_.reserve(size.workers);
  threads_.reserve(size.workers);
  for (size_t i = 0; i < size.workers; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    for (Idle* idle : idle_) idle->given.Signal();
    idle_.clear();
  }
  threads_.clear();  // joins
}

bool WorkerPool::Submit(Task task) {
  const absl::MutexLock lock(&mutex_);
  if (stopping_) return false;
  const bool begins = !idle_.empty() && MayBegin();
  if (!begins && IsFull()) return false;
  Accept(std::move(task));
  return true;
}

void WorkerPool::SubmitAgain(Task task) {
  const absl::MutexLock lock(&mutex_);
  Accept(std::move(task));
}

void WorkerPool::Accept(Task task) {
  if (!idle_.empty() && MayBegin()) return Begin(std::move(task));
  tasks_.push_back({.task = std::move(task), .since = SystemClock().SinceBoot()});
}

bool WorkerPool::IsFull() const { return tasks_.size() + queued_beside_ >= most_queued_; }

bool WorkerPool::EnterQueue() {
  const absl::MutexLock lock(&mutex_);
  if (stopping_ || IsFull()) return false;
  ++queued_beside_;
  return true;
}

void WorkerPool::LeaveQueue() {
  const absl::MutexLock lock(&mutex_);
  --queued_beside_;
}

WorkerPool::Guest::Guest(WorkerPool& pool) : pool_(pool) {
  pool_.BlockingEnded(ScopedBlockingCall::Resume::kImmediately);
  ScopedBlockingCall::ObserveThisThread(*this);
}

WorkerPool::Load WorkerPool::CurrentLoad() {
  const absl::Duration now = SystemClock().SinceBoot();
  const absl::MutexLock lock(&mutex_);
  Load load{.queued = tasks_.size() + queued_beside_,
            .busy = threads_.size() - idle_.size(),
            .on_core = on_core_};
  if (!tasks_.empty()) load.oldest = std::max(absl::ZeroDuration(), now - tasks_.front().since);
  return load;
}

WorkerPool::Activity WorkerPool::CurrentActivity() {
  const absl::MutexLock lock(&mutex_);
  const size_t most = std::min(most_on_core_, threads_.size());
  return {.steps = steps_, .wait_for_core = !tasks_.empty() && on_core_ >= most};
}

void WorkerPool::BlockingStarted() {
  const absl::MutexLock lock(&mutex_);
  ++steps_;
  GiveShare();
  if (!tasks_.empty() && !idle_.empty() && MayBegin()) Begin(TakeQueued());
}

void WorkerPool::GiveShare() {
  --on_core_;
  if (resuming_.empty() || !MayBegin()) return;
  Resuming* const first = resuming_.front();
  resuming_.erase(resuming_.begin());
  ++on_core_;
  first->resumed = true;
  first->given.Signal();
}

void WorkerPool::BlockingEnded(ScopedBlockingCall::Resume resume) {
  const absl::MutexLock lock(&mutex_);
  ++steps_;
  const bool queued =
      resume == ScopedBlockingCall::Resume::kQueued && resuming_.size() < resuming_.capacity();
  if (queued && !MayBegin()) {
    Resuming self;
    resuming_.push_back(&self);
    while (!self.resumed && !self.given.WaitWithTimeout(&mutex_, resume_wait_most_)) {
    }
    if (self.resumed) return;
    std::erase(resuming_, &self);
  }
  ++on_core_;
}

void WorkerPool::Work() {
  ScopedBlockingCall::ObserveThisThread(*this);
  while (Task task = Take()) Run(std::move(task));
}

void WorkerPool::Run(Task task) {
  const auto what = CatchException([&] { std::move(task)(); });
  if (!what) return;
  CountException();
  if (report_) report_(*what);
}

WorkerPool::Task WorkerPool::Take() {
  const absl::MutexLock lock(&mutex_);
  GiveShare();  // of the task that ended
  ++steps_;
  if (!tasks_.empty() && MayBegin()) {
    ++on_core_;
    return TakeQueued();
  }
  if (stopping_) return nullptr;
  Idle idle;
  idle_.push_back(&idle);
  while (!idle.task && !stopping_) idle.given.Wait(&mutex_);
  return std::move(idle.task);
}

void WorkerPool::Begin(Task task) {
  Idle* const next = idle_.back();
  idle_.pop_back();
  next->task = std::move(task);
  ++on_core_;
  ++steps_;
  next->given.Signal();
}

WorkerPool::Task WorkerPool::TakeQueued() {
  Task task = std::move(tasks_.front().task);
  tasks_.pop_front();
  return task;
}

}  // namespace holdfast
