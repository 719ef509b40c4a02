#include "session/commit_failures.h"

#include "session/refusal.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

const SessionKey kKey{.tenant = *TenantId::Parse("default"), .session = *SessionId::Parse("a")};
const SessionKey kOtherSession{.tenant = *TenantId::Parse("default"),
                               .session = *SessionId::Parse("b")};

std::string ReasonText(const absl::Status& status) {
  return status.ok() ? "OK" : std::string(RowOf(RefusalOf(status).reason()).name);
}

TEST(CommitFailures, TheThirdOfOneTurnSaysSnapshotFailed) {
  CommitFailures failures;
  const absl::Status down = StoreUnavailable("down", Fate::kUnknown);
  const TurnNumber turn(1);
  EXPECT_EQ(ReasonText(failures.Classify(kKey, turn, down)), "STORE_UNAVAILABLE");
  EXPECT_EQ(ReasonText(failures.Classify(kKey, turn, down)), "STORE_UNAVAILABLE");
  EXPECT_EQ(ReasonText(failures.Classify(kOtherSession, turn, down)), "STORE_UNAVAILABLE");
  const absl::Status third = failures.Classify(kKey, turn, down);
  EXPECT_EQ(ReasonText(third), "SNAPSHOT_FAILED");
  const Refusal refusal = RefusalOf(third);
  EXPECT_EQ(refusal.facts().at("outcome"), "unknown");
  EXPECT_EQ(refusal.facts().at("cause"), "STORE_UNAVAILABLE");
  EXPECT_EQ(refusal.facts().at("failures"), "3");
  EXPECT_TRUE(refusal.retry_after().has_value());
  EXPECT_EQ(ReasonText(failures.Classify(kKey, turn, down)), "SNAPSHOT_FAILED");
}

TEST(CommitFailures, ASuccessOrAnotherTurnBeginsAnew) {
  CommitFailures failures;
  const absl::Status full = Refusal(Reason::kStorageFull, "full");
  for (int i = 0; i < 2; ++i) failures.Classify(kKey, TurnNumber(1), full).IgnoreError();
  EXPECT_EQ(ReasonText(failures.Classify(kKey, TurnNumber(1), absl::OkStatus())), "OK");
  EXPECT_EQ(ReasonText(failures.Classify(kKey, TurnNumber(1), full)), "STORAGE_FULL");
  EXPECT_EQ(ReasonText(failures.Classify(kKey, TurnNumber(1), full)), "STORAGE_FULL");
  EXPECT_EQ(ReasonText(failures.Classify(kKey, TurnNumber(2), full)), "STORAGE_FULL");
  EXPECT_EQ(ReasonText(failures.Classify(kKey, TurnNumber(2), full)), "STORAGE_FULL");
  EXPECT_EQ(ReasonText(failures.Classify(kKey, TurnNumber(2), full)), "SNAPSHOT_FAILED");
}

TEST(CommitFailures, OtherRefusalsDoNotCount) {
  CommitFailures failures;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ReasonText(failures.Classify(kKey, TurnNumber(1), Refusal(Reason::kFenced, "x"))),
              "FENCED");
  }
  EXPECT_EQ(
      ReasonText(failures.Classify(kKey, TurnNumber(1), StoreUnavailable("x", Fate::kNoEffect))),
      "STORE_UNAVAILABLE");
}

}  // namespace
}  // namespace holdfast
