#include "tests/support/batched_commits.h"

#include "tests/support/grouped_commit.h"

#include "absl/synchronization/notification.h"
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace holdfast::test {
namespace {

class Waiter final : public CommitBatcher::Member {
 public:
  explicit Waiter(const Change& change) : change_(change) {}

  std::optional<GroupedChange> Decide() override {
    return GroupedChange{.change = &change_, .span = {}};
  }
  void Settle(GroupedResult result) override {
    result_ = std::move(result);
    settled_.Notify();
  }
  GroupedResult Result() {
    settled_.WaitForNotification();
    return std::move(result_);
  }

 private:
  const Change& change_;
  GroupedResult result_;
  absl::Notification settled_;
};

}  // namespace

BatchedCommits::BatchedCommits(SessionStore& store)
    : store_(store),
      pool_({.workers = 1, .queued = 1024}),
      batcher_(store, pool_,
               [](const std::string& what) { ADD_FAILURE() << "an exception: " << what; }) {}

absl::StatusOr<CommitResult> BatchedCommits::Commit(const Change& change) {
  Waiter waiter(change);
  if (!batcher_.Add(waiter, 1)) return absl::ResourceExhaustedError("the queue is full");
  return CommitBehindGroup(store_, change, waiter.Result());
}

}  // namespace holdfast::test
