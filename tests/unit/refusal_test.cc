#include "session/refusal.h"

#include "session/limits.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

TEST(Refusal, ComesBackOutOfAStatusWhole) {
  const absl::Status status = Refusal(Reason::kStaleRevision, "the session has moved on")
                                  .With("expected", uint64_t{4})
                                  .With("actual", "5")
                                  .With("writer", std::string("\0ada\n", 5))
                                  .RetryAfter(absl::Microseconds(1500));
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  const Refusal refusal = RefusalOf(status);
  EXPECT_EQ(refusal.reason(), Reason::kStaleRevision);
  EXPECT_EQ(refusal.message(), "the session has moved on");
  EXPECT_EQ(refusal.retry_after(), absl::Microseconds(1500));
  ASSERT_EQ(refusal.facts().size(), 3U);
  EXPECT_EQ(refusal.facts().at("expected"), "4");
  EXPECT_EQ(refusal.facts().at("actual"), "5");
  EXPECT_EQ(refusal.facts().at("writer"), std::string("\0ada\n", 5));
}

TEST(Refusal, WithoutADelayHasNone) {
  EXPECT_EQ(RefusalOf(Refusal(Reason::kFenced, "x").ToStatus()).retry_after(), std::nullopt);
  EXPECT_EQ(RefusalOf(Refusal(Reason::kFenced, "x").RetryAfter(absl::ZeroDuration()).ToStatus())
                .retry_after(),
            absl::ZeroDuration());
}

TEST(Refusal, AStatusFromElsewhereIsInternalWithoutItsText) {
  const Refusal refusal = RefusalOf(absl::InternalError("password=hunter2"));
  EXPECT_EQ(refusal.reason(), Reason::kInternal);
  EXPECT_EQ(refusal.message().find("hunter2"), std::string::npos);
  EXPECT_TRUE(refusal.facts().empty());
}

TEST(Refusal, EveryReasonKeepsItsStatusCode) {
  for (const ReasonRow& row : kReasonRows) {
    const absl::Status status = Refusal(row.reason, "x");
    EXPECT_EQ(status.code(), row.status) << row.name;
    EXPECT_TRUE(Is(status, row.reason)) << row.name;
    EXPECT_EQ(&RowOf(row.reason), &row);
    EXPECT_NE(status.code(), absl::StatusCode::kOk);
    EXPECT_FALSE(Words(row.retry).empty());
  }
  EXPECT_FALSE(Is(absl::OkStatus(), Reason::kInternal));
}

TEST(Refusal, TheCommonOnesNameTheirFacts) {
  EXPECT_EQ(InvalidField("slots[2].version", "must be x").facts().at("field"), "slots[2].version");
  EXPECT_EQ(InvalidField("a", "must be x").facts().at("why"), "must be x");
  EXPECT_EQ(TooLarge("a", 3, 4).facts().at("limit"), "3");
  EXPECT_EQ(TooLarge("a", 3, 4).facts().at("got"), "4");
  EXPECT_EQ(TooLarge("a", 3, 4).message(), "a: 4 is above the limit of 3");
  EXPECT_EQ(StorageFull("x").retry_after(), kStorageFullRetry);
  EXPECT_EQ(StoreUnavailable("x", Fate::kUnknown).facts().at("outcome"), "unknown");
  EXPECT_EQ(StoreUnavailable("x", Fate::kNoEffect).facts().at("outcome"), "known");
  EXPECT_TRUE(StoreUnavailable("x", Fate::kNoEffect).retry_after().has_value());
}

}  // namespace
}  // namespace holdfast
