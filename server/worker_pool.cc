#include "server/worker_pool.h"

#include "session/clock.h"
#include "session/exceptions.h"
#include "session/saboteur.h"

#include <algorithm>
#include <utility>

namespace holdfast {

WorkerPool::WorkerPool(Size size, ReportException report)
    : most_queued_(size.queued),
      most_on_core_(size.on_core),
      turn_most_(size.turn_most),
      report_(std::move(report)),
      on_core_(size.workers) {
  returning_.reserve(size.workers);
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

bool WorkerPool::IsFull() const {
  return tasks_.size() + queued_beside_ >= most_queued_ && !Sabotaged(Saboteur::kNoQueueBound);
}

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
  pool_.Return(OffCore::Back::kAtOnce);
  OffCore::TellOfThisThread(*this);
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

void WorkerPool::Leave() {
  const absl::MutexLock lock(&mutex_);
  ++steps_;
  GiveShare();
  if (!tasks_.empty() && !idle_.empty() && MayBegin()) Begin(TakeQueued());
}

void WorkerPool::GiveShare() {
  --on_core_;
  if (returning_.empty() || !MayBegin()) return;
  Returning* const first = returning_.front();
  returning_.erase(returning_.begin());
  ++on_core_;
  first->back = true;
  first->given.Signal();
}

void WorkerPool::Return(OffCore::Back back) {
  const absl::MutexLock lock(&mutex_);
  ++steps_;
  const bool in_turn = back == OffCore::Back::kInTurn && returning_.size() < returning_.capacity();
  if (in_turn && !MayBegin() && !Sabotaged(Saboteur::kReturnAtOnce)) {
    Returning self;
    returning_.push_back(&self);
    while (!self.back && !self.given.WaitWithTimeout(&mutex_, turn_most_)) {
    }
    if (self.back) return;
    std::erase(returning_, &self);
  }
  ++on_core_;
}

void WorkerPool::Work() {
  OffCore::TellOfThisThread(*this);
  while (Task task = Take()) {
    if (!Run(std::move(task)) && Sabotaged(Saboteur::kEndThrowingWorker)) return;
  }
}

bool WorkerPool::Run(Task task) {
  const auto what = CatchException([&] { std::move(task)(); });
  if (!what) return true;
  CountException();
  if (report_) report_(*what);
  return false;
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
