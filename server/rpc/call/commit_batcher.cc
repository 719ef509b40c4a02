#include "server/rpc/call/commit_batcher.h"

#include "platform/clock.h"
#include "platform/exceptions.h"
#include "platform/scoped_blocking_call.h"
#include "platform/unlocked.h"

#include "absl/cleanup/cleanup.h"

#include <algorithm>
#include <utility>

namespace holdfast {

CommitBatcher::CommitBatcher(SessionStore& store, WorkerPool& pool, ReportException report)
    : store_(store),
      pool_(pool),
      report_(std::move(report)),
      most_in_store_(store.Describe().groups_at_once) {
  for (size_t i = 0; i <= most_in_store_; ++i) threads_.emplace_back([this] { Serve(); });
}

CommitBatcher::~CommitBatcher() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  threads_.clear();  // joins
}

bool CommitBatcher::Add(Member& member, size_t bytes) {
  if (!pool_.EnterQueue()) return false;
  const absl::Duration now = SystemClock().SinceBoot();
  const absl::MutexLock lock(&mutex_);
  queue_.push_back({.member = &member, .bytes = bytes, .since = now});
  return true;
}

absl::Duration CommitBatcher::OldestAge() {
  const absl::Duration now = SystemClock().SinceBoot();
  const absl::MutexLock lock(&mutex_);
  if (queue_.empty()) return absl::ZeroDuration();
  return std::max(absl::ZeroDuration(), now - queue_.front().since);
}

void CommitBatcher::Serve() {
  const WorkerPool::Guest guest(pool_);
  bool more = true;
  while (more) {
    Report(CatchException([&] { more = RunBatch(); }));
  }
}

void CommitBatcher::Report(const std::optional<std::string>& exception) {
  if (!exception) return;
  pool_.CountException();
  report_(*exception);
}

bool CommitBatcher::RunBatch() {
  Batch batch;
  batch.members.reserve(kBatchedCalls);
  batch.changes.reserve(kBatchedCalls);
  if (!Fill(batch)) return false;
  if (batch.members.empty()) return true;
  std::vector<GroupedResult> results = Commit(batch);
  for (size_t i = 0; i < batch.members.size(); ++i) {
    Report(CatchException([&] { batch.members[i]->Settle(std::move(results[i])); }));
  }
  return true;
}

bool CommitBatcher::Fill(Batch& batch) {
  const absl::MutexLock lock(&mutex_);
  const auto begins = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !filling_ && (stopping_ || !queue_.empty());
  };
  AwaitBlocking(mutex_, absl::Condition(&begins));
  if (queue_.empty()) return false;
  filling_ = true;
  const absl::Cleanup end = [this] {
    mutex_.AssertHeld();
    filling_ = false;
  };
  const auto moves = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return MayTake(batch) || StoreIsFree();
  };
  for (;;) {
    while (MayTake(batch)) TakeOne(batch);
    if (batch.members.empty()) return true;
    if (StoreIsFree()) break;
    AwaitBlocking(mutex_, absl::Condition(&moves));
  }
  ++in_store_;
  return true;
}

bool CommitBatcher::MayTake(const Batch& batch) const {
  if (queue_.empty() || batch.members.size() == kBatchedCalls) return false;
  return batch.members.empty() || batch.bytes + queue_.front().bytes <= kChangeBytes;
}

void CommitBatcher::TakeOne(Batch& batch) {
  const Waiting next = queue_.front();
  queue_.pop_front();
  const Unlocked unlocked(mutex_);
  pool_.LeaveQueue();
  const size_t before = batch.members.size();
  Report(CatchException([&] { Decide(*next.member, batch); }));
  if (batch.members.size() > before) batch.bytes += next.bytes;
}

// A second change of a session would be decided on what the first one has not made yet.
void CommitBatcher::Decide(Member& member, Batch& batch) {
  std::optional<GroupedChange> change = member.Decide();
  if (!change) return;
  const bool second = std::ranges::any_of(batch.changes, [&](const GroupedChange& other) {
    return other.change->key == change->change->key;
  });
  if (second) return member.Settle({});
  batch.members.push_back(&member);
  batch.changes.push_back(*std::move(change));
}

std::vector<GroupedResult> CommitBatcher::Commit(const Batch& batch) {
  std::vector<GroupedResult> results;
  const auto what = CatchException([&] { results = store_.CommitMany(batch.changes); });
  {
    const absl::MutexLock lock(&mutex_);
    --in_store_;
  }
  Report(what);
  if (what) results.assign(batch.members.size(), {.kind = GroupedResult::Kind::kInDoubt});
  return results;
}

}  // namespace holdfast
