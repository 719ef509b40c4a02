// Snapshots that checkpoints pin, over rotations, merges, compactions and restarts, against a model
// that copies.
#include "tests/support/pinned_history.h"

#include "session/limits.h"
#include "tests/faults/indexed_session.h"
#include "tests/support/checkpoint_changes.h"

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

class ManyCheckpoints : public IndexedSession {};

// As many as a session may have: what a turn writes, and what the first touch reads, stays as it
// was but for the numbers that have become longer, and for the pins in `head.<g>`.
TEST_F(ManyCheckpoints, CostATurnAndAFirstTouchNothing) {
  inline_entries_ = 100'000;
  rotate_changes_ = 64;
  Restart();
  const auto turn_bytes = [&] {
    const uint64_t before = bytes_;
    const TurnNumber turn = Must(changes_->Begin(token_)).turn;
    Must(changes_->CommitTurn(token_, turn));
    return bytes_ - before;
  };
  const auto first_touch = [&] {
    Restart();
    const size_t before = reads_;
    EXPECT_TRUE(store_->LoadForDecision(key(), std::nullopt).ok());
    return reads_ - before;
  };
  Rotate();
  const size_t reads = first_touch();
  const uint64_t bytes = turn_bytes();
  for (uint64_t number = 0; number < kCheckpointsPerSession; ++number) {
    const auto loaded = store_->LoadForDecision(key(), std::nullopt);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    CheckpointPut put{.of_this_snapshot = true};
    Must(WithCheckpoints(changes_->Write(token_), loaded->head, {put}));
  }
  Rotate();
  EXPECT_LE(first_touch(), reads + 1);
  const uint64_t with = turn_bytes();
  EXPECT_LE(with, bytes + 256);
}

}  // namespace
}  // namespace holdfast::test
