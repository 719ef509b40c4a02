// Snapshots that checkpoints pin, over prunes and restarts, against a model that copies.
#include "tests/support/pinned_history.h"

#include "tests/postgres/store_fixture.h"

#include "absl/strings/str_cat.h"

#include <cstdint>

namespace holdfast::test {
namespace {

class PgPinnedHistory : public PostgresStoreTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(PgPinnedHistory, IsReadAsFromCopies) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam()));
  Create();
  PinnedHistory history(GetParam(), changes(), token());
  history.Begin(store());
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    for (uint64_t left = 1 + history.Below(8); left > 0; --left) history.Step(store());
    if (history.Below(6) == 0) Reopen();
    history.Check(store());
  }
  EXPECT_GT(history.restored(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PgPinnedHistory, ::testing::Range(uint64_t{1}, uint64_t{5}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace holdfast::test
