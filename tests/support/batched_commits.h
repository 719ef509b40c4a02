// Changes that are committed as the server commits those of its calls: together with what comes
// while the store is busy.
#ifndef HOLDFAST_TESTS_SUPPORT_BATCHED_COMMITS_H_
#define HOLDFAST_TESTS_SUPPORT_BATCHED_COMMITS_H_

#include "server/rpc/call/commit_batcher.h"
#include "server/worker_pool.h"
#include "session/change.h"
#include "session/store.h"

#include "absl/status/statusor.h"

namespace holdfast::test {

class BatchedCommits final {
 public:
  // `store` must outlive it, and is active.
  explicit BatchedCommits(SessionStore& store);

  // Waits for the answer. Any thread may call.
  absl::StatusOr<CommitResult> Commit(const Change& change);

 private:
  SessionStore& store_;
  WorkerPool pool_;
  CommitBatcher batcher_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_BATCHED_COMMITS_H_
