// Where calls that change a session wait and are committed together.
//
// A few threads serve a queue. One of them takes what waits and decides it; as soon as the store is
// free it commits all of that by one call, and answers each call. Meanwhile the next thread takes
// and decides what has come. So a batch is as large as the store is slow, no call waits for a
// timer, and none for another thread. What cannot simply be committed with others is done by a
// worker, alone: no lock, no read and no second try of one call holds the others up.
#ifndef HOLDFAST_SERVER_RPC_CALL_COMMIT_BATCHER_H_
#define HOLDFAST_SERVER_RPC_CALL_COMMIT_BATCHER_H_

#include "server/worker_pool.h"
#include "session/limits.h"
#include "session/store.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {

// Calls of one batch, at most. Their requests have kChangeBytes together.
inline constexpr size_t kBatchedCalls = kGroupMost;
// A larger request is served by a worker.
inline constexpr size_t kBatchedRequestBytes = 256 * kKiB;

class CommitBatcher final {
 public:
  // A call in it. It ends itself, by one call of the batcher's last; the batcher does not touch it
  // afterwards.
  class Member {
   public:
    // Decides the call. Its change, which lives until Settle; nullopt: it has ended, or is done
    // alone.
    virtual std::optional<GroupedChange> Decide() = 0;
    // Answers the call, or has it done alone.
    virtual void Settle(GroupedResult result) = 0;

   protected:
    ~Member() = default;
  };

  // Takes the text of an exception that left a batch. Any of its threads calls it.
  using ReportException = std::function<void(const std::string& what)>;

  // Starts the threads: one more than the calls of the store that are worth making at once, of
  // which there is at least one. `store` and `pool` must outlive it.
  CommitBatcher(SessionStore& store, WorkerPool& pool, ReportException report);
  CommitBatcher(const CommitBatcher&) = delete;
  CommitBatcher& operator=(const CommitBatcher&) = delete;
  // Does what is queued, and waits for it. Nothing is added any more.
  ~CommitBatcher();

  // Queues `member`, whose request has `bytes`, and answers true; or answers false when the pool's
  // queue is full. Never blocks. Any thread may call.
  [[nodiscard]] bool Add(Member& member, size_t bytes);

  // How long the first call that waits has waited; zero when none does.
  [[nodiscard]] absl::Duration OldestAge();

 private:
  struct Waiting {
    Member* member = nullptr;
    size_t bytes = 0;
    absl::Duration since;  // boot
  };
  struct Batch {
    std::vector<Member*> members;
    std::vector<GroupedChange> changes;
    size_t bytes = 0;
  };

  void Serve();
  // Each exception is a defect.
  void Report(const std::optional<std::string>& exception);
  // False when the queue is empty for good.
  bool RunBatch();
  // Takes what waits until the store is free or the batch is full. The store is taken then, unless
  // the batch is empty.
  bool Fill(Batch& batch);
  // Decides the first call that waits.
  void TakeOne(Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Decide(Member& member, Batch& batch);
  [[nodiscard]] bool MayTake(const Batch& batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool StoreIsFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return in_store_ < most_in_store_;
  }
  std::vector<GroupedResult> Commit(const Batch& batch);

  SessionStore& store_;
  WorkerPool& pool_;
  const ReportException report_;
  const size_t most_in_store_;
  absl::Mutex mutex_;
  std::deque<Waiting> queue_ ABSL_GUARDED_BY(mutex_);
  bool filling_ ABSL_GUARDED_BY(mutex_) = false;  // a thread takes from the queue
  size_t in_store_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CALL_COMMIT_BATCHER_H_
