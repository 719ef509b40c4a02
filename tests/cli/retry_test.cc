#include "cli/retry.h"

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;
using ::testing::SizeIs;

// Sleeping is what moves it.
class SteppedClock final : public Clock {
 public:
  [[nodiscard]] absl::Time Wall() const override { return absl::FromUnixSeconds(4'000'000'000); }
  [[nodiscard]] absl::Duration Monotonic() const override { return now_; }
  void Sleep(absl::Duration duration) const override {
    now_ += duration;
    pauses_.push_back(duration);
  }

  [[nodiscard]] absl::Duration now() const { return now_; }
  [[nodiscard]] const std::vector<absl::Duration>& pauses() const { return pauses_; }

 private:
  mutable absl::Duration now_;
  mutable std::vector<absl::Duration> pauses_;
};

grpc::Status Refused(grpc::StatusCode code, const std::string& reason, int retry_seconds = 0) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  google::rpc::Status status;
  status.add_details()->PackFrom(info);
  if (retry_seconds > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(retry_seconds);
    status.add_details()->PackFrom(retry);
  }
  return {code, "", status.SerializeAsString()};
}

const grpc::Status kGone(grpc::StatusCode::UNAVAILABLE, "socket closed");

class RetryTest : public ::testing::Test {
 protected:
  // Calls with `answers` in turn, the last one for ever.
  CallResult Call(const RetryPolicy& policy, std::vector<grpc::Status> answers) {
    return Caller(policy, clock_).Call([&](grpc::ClientContext&) {
      const size_t at = std::min(attempts_++, answers.size() - 1);
      return answers[at];
    });
  }

  SteppedClock clock_;
  size_t attempts_ = 0;
};

TEST_F(RetryTest, WithoutPatienceACallIsSentOnce) {
  const CallResult result = Call({}, {kGone});
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(attempts_, 1);
}

TEST_F(RetryTest, AServerThatComesBackIsMetAndTheOutageCounted) {
  const CallResult result = Call({.patience = absl::Minutes(1)}, {kGone, kGone, grpc::Status::OK});
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.outages, 2);
}

TEST_F(RetryTest, PatienceEnds) {
  const CallResult result = Call({.patience = absl::Seconds(10)}, {kGone});
  EXPECT_FALSE(result.status.ok());
  EXPECT_GT(attempts_, 5);
  EXPECT_LE(clock_.now(), absl::Seconds(10));
  EXPECT_GE(clock_.now(), absl::Seconds(8)) << "patience is used before it is given up";
}

TEST_F(RetryTest, ARefusalThatRepeatingCannotMendIsFinal) {
  const grpc::Status stale = Refused(grpc::StatusCode::ABORTED, "STALE_REVISION");
  Call({.patience = absl::Minutes(1)}, {stale});
  EXPECT_EQ(attempts_, 1);
}

// The first copy may have been slow and act after the second was refused.
TEST_F(RetryTest, ARefusalAfterARepeatIsAskedForOnceMore) {
  const grpc::Status stale = Refused(grpc::StatusCode::ABORTED, "STALE_REVISION");
  EXPECT_TRUE(Call({.patience = absl::Minutes(1)}, {kGone, stale, grpc::Status::OK}).status.ok());
  EXPECT_EQ(attempts_, 3);
}

TEST_F(RetryTest, DoesNotRepeatAfterFinalRefusal) {
  const grpc::Status stale = Refused(grpc::StatusCode::ABORTED, "STALE_REVISION");
  Call({.patience = absl::Minutes(1)}, {kGone, stale});
  EXPECT_EQ(attempts_, 3);
}

TEST_F(RetryTest, TheServersRetryInfoIsHonoured) {
  const grpc::Status busy = Refused(grpc::StatusCode::UNAVAILABLE, "OVERLOADED", 3);
  const CallResult result = Call({.patience = absl::Minutes(1)}, {busy, grpc::Status::OK});
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.outages, 0);
  ASSERT_THAT(clock_.pauses(), SizeIs(1));
  EXPECT_GE(clock_.pauses()[0], absl::Seconds(3));
}

TEST_F(RetryTest, ARetryInfoBeyondPatienceIsNotWaitedFor) {
  const grpc::Status busy = Refused(grpc::StatusCode::UNAVAILABLE, "OVERLOADED", 90);
  Call({.patience = absl::Minutes(1)}, {busy});
  EXPECT_EQ(attempts_, 1);
  EXPECT_THAT(clock_.pauses(), SizeIs(0));
}

TEST_F(RetryTest, OnlyWhoMeansToWaitWaitsForALease) {
  const grpc::Status held = Refused(grpc::StatusCode::ABORTED, "LEASE_HELD", 5);
  Call({.patience = absl::Minutes(1)}, {held, grpc::Status::OK});
  EXPECT_EQ(attempts_, 1);
  attempts_ = 0;
  Call({.patience = absl::Minutes(1), .wait_for_lease = true}, {held, grpc::Status::OK});
  EXPECT_EQ(attempts_, 2);
}

TEST_F(RetryTest, PausesGrowWithJitterUpToALongest) {
  const RetryPolicy policy;
  const Failure failure;
  for (int round = 0; round < 100; ++round) {
    EXPECT_THAT(PauseBefore(0, failure, policy),
                AllOf(Ge(policy.first_pause / 2), Le(policy.first_pause)));
    EXPECT_THAT(PauseBefore(3, failure, policy),
                AllOf(Ge(policy.first_pause * 4), Le(policy.first_pause * 8)));
    EXPECT_THAT(PauseBefore(1000, failure, policy),
                AllOf(Ge(policy.longest_pause / 2), Le(policy.longest_pause)));
  }
  EXPECT_NE(PauseBefore(1000, failure, policy), PauseBefore(1000, failure, policy));
}

}  // namespace
}  // namespace holdfast::cli
