// Snapshots that checkpoints pin, over rotations, merges, compactions and restarts, against a model
// that copies.
#include "tests/support/pinned_history.h"

#include "tests/faults/indexed_session.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::test {
namespace {

class PinnedFiles : public IndexedSession, public ::testing::WithParamInterface<uint64_t> {
 protected:
  void SetUp() override {
    inline_entries_ = GetParam() % 3 * 1000;
    IndexedSession::SetUp();
    history_.emplace(GetParam(), *changes_, token_);
    history_->Begin(*store_);
  }

  std::optional<PinnedHistory> history_;
};

TEST_P(PinnedFiles, AreReadAsFromCopies) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam()));
  size_t most_runs = 0;
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    for (uint64_t left = 1 + history_->Below(8); left > 0; --left) history_->Step(*store_);
    most_runs = std::max(most_runs, Files("run.").size());
    if (history_->Below(3) == 0) Sweep();
    if (history_->Below(4) == 0) Restart();
    history_->Check(*store_);
  }
  EXPECT_GT(most_runs, 0U);
  EXPECT_GT(history_->restored(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PinnedFiles, ::testing::Range(uint64_t{1}, uint64_t{17}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace holdfast::test
