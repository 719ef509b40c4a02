#include "cli/errors.h"

#include "cli/reasons.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "session/reasons.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <string>

namespace holdfast::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Details {
  std::string reason;
  std::string fact;
  int retry_seconds = 0;
};

grpc::Status RefusedWithDetails(grpc::StatusCode code, const Details& details) {
  google::rpc::ErrorInfo info;
  info.set_reason(details.reason);
  (*info.mutable_metadata())["holder"] = details.fact;
  google::rpc::Status status;
  status.set_code(code);
  status.add_details()->PackFrom(info);
  if (details.retry_seconds > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(details.retry_seconds);
    status.add_details()->PackFrom(retry);
  }
  return {code, "what the server said", status.SerializeAsString()};
}

TEST(Errors, ARefusalCarriesReasonFactsAndWhenToComeAgain) {
  const Failure failure = FailureOf(RefusedWithDetails(
      grpc::StatusCode::ABORTED, {.reason = "LEASE_HELD", .fact = "ann", .retry_seconds = 7}));
  EXPECT_EQ(failure.reason, "LEASE_HELD");
  EXPECT_EQ(failure.message, "what the server said");
  EXPECT_EQ(failure.metadata.at("holder"), "ann");
  EXPECT_EQ(failure.retry_after, absl::Seconds(7));
}

TEST(Errors, TheLineNamesReasonMeaningFactsAndWhatToDo) {
  const std::string line = Line(FailureOf(RefusedWithDetails(
      grpc::StatusCode::ABORTED, {.reason = "LEASE_HELD", .fact = "ann", .retry_seconds = 7})));
  EXPECT_EQ(line,
            "LEASE_HELD: another holder's lease is live (what the server said) [holder=ann]; next: "
            "wait until the lease ends, or take it with `session resume --force REASON`, in 7s");
}

TEST(Errors, TheLineIsOneLineWhateverWasStored) {
  const std::string line = Line(FailureOf(RefusedWithDetails(
      grpc::StatusCode::ABORTED, {.reason = "X", .fact = "a\n\x1B[2Jb\xC2\x9B"})));
  EXPECT_THAT(line, HasSubstr("holder=a\\n\\x1B[2Jb\\u009B"));
  EXPECT_THAT(line, Not(HasSubstr("\n")));
}

TEST(Errors, TheObjectIsReasonMessageMetadata) {
  const nlohmann::ordered_json object = ToJson(FailureOf(
      RefusedWithDetails(grpc::StatusCode::ABORTED, {.reason = "STALE_REVISION", .fact = "bob"})));
  EXPECT_EQ(object.dump(), R"({"reason":"STALE_REVISION","message":"what the server said",)"
                           R"("metadata":{"holder":"bob"}})");
}

TEST(Errors, WithoutDetailsTheTransportHasFailed) {
  for (const auto code :
       {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::DEADLINE_EXCEEDED,
        grpc::StatusCode::UNKNOWN, grpc::StatusCode::INTERNAL, grpc::StatusCode::CANCELLED}) {
    const Failure failure = FailureOf({code, "broken"});
    EXPECT_EQ(failure.reason, kUnreachableReason);
    EXPECT_EQ(ExitCodeOf(failure), kUnreachable);
  }
  const Failure other = FailureOf({grpc::StatusCode::UNIMPLEMENTED, "no such method"});
  EXPECT_EQ(other.reason, kNotHoldfastReason);
  EXPECT_EQ(ExitCodeOf(other), kUnreachable);
  EXPECT_EQ(other.message, "");
}

TEST(Errors, TheTransportsWordsDoNotReachPeople) {
  const auto message = [](grpc::StatusCode code, const std::string& text) {
    return FailureOf({code, text}).message;
  };
  EXPECT_EQ(message(grpc::StatusCode::UNAVAILABLE, "recvmsg:Connection reset by peer"),
            "the connection broke");
  EXPECT_EQ(message(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"),
            "no answer came in time");
  EXPECT_EQ(message(grpc::StatusCode::UNKNOWN, "Stream removed"), "");
  EXPECT_EQ(message(grpc::StatusCode::RESOURCE_EXHAUSTED,
                    "Received message larger than max (5000000 vs. 4194304)"),
            "a message was larger than a connection takes");
  EXPECT_EQ(message(grpc::StatusCode::RESOURCE_EXHAUSTED, "Received RST_STREAM with error code 11"),
            "the call was broken off");
  EXPECT_EQ(message(grpc::StatusCode::RESOURCE_EXHAUSTED, "to-be-sent initial metadata size"), "");
}

// The connection itself refused: the server answers what it refuses with details.
TEST(Errors, ExplainsAConnectionThatCannotCarryTheCall) {
  const Failure failure = FailureOf({grpc::StatusCode::RESOURCE_EXHAUSTED, "Memory quota"});
  EXPECT_EQ(ExitCodeOf(failure), kRefused);
  EXPECT_EQ(Line(failure),
            "RESOURCE_EXHAUSTED: the connection could not carry the call or its reply; next: ask "
            "for less at once, or wait and send it again");
}

// What is sent again under the same request id acts once.
TEST(Errors, ACallThatTheTransportResetForLackOfMemoryIsRepeated) {
  const Failure failure =
      FailureOf({grpc::StatusCode::RESOURCE_EXHAUSTED, "Received RST_STREAM with error code 11"});
  EXPECT_EQ(failure.reason, kUnreachableReason);
  EXPECT_EQ(ExplanationOf(failure.reason).repeat, Repeat::kYes);
}

TEST(Errors, DistinguishesRefusedUnreachableAndDamagedByExitCode) {
  const auto exit_code = [](grpc::StatusCode code, const std::string& reason) {
    return ExitCodeOf(FailureOf(RefusedWithDetails(code, {.reason = reason})));
  };
  EXPECT_EQ(exit_code(grpc::StatusCode::NOT_FOUND, "SESSION_NOT_FOUND"), kRefused);
  EXPECT_EQ(exit_code(grpc::StatusCode::INVALID_ARGUMENT, "TOO_LARGE"), kRefused);
  EXPECT_EQ(exit_code(grpc::StatusCode::UNAVAILABLE, "OVERLOADED"), kUnreachable);
  EXPECT_EQ(exit_code(grpc::StatusCode::INTERNAL, "INTERNAL"), kRefused);
  EXPECT_EQ(exit_code(grpc::StatusCode::UNAVAILABLE, "STORE_UNAVAILABLE"), kUnreachable);
  EXPECT_EQ(exit_code(grpc::StatusCode::DATA_LOSS, "DAMAGED"), kDifference);
  EXPECT_EQ(exit_code(grpc::StatusCode::FAILED_PRECONDITION, "REVISION_AHEAD"), kDifference);
}

TEST(Errors, EveryReasonOfTheServerIsExplained) {
  for (const ReasonRow& row : kReasonRows) {
    const Explanation& explanation = ExplanationOf(row.name);
    EXPECT_EQ(explanation.reason, row.name);
    EXPECT_FALSE(explanation.meaning.empty()) << row.name;
    EXPECT_FALSE(explanation.next.empty()) << row.name;
  }
}

// The command line may not see the domain's table, so that the two are held together here.
TEST(Errors, WhatMayBeRepeatedIsWhatTheTableSays) {
  for (const ReasonRow& row : kReasonRows) {
    Repeat expected = Repeat::kNo;
    switch (row.retry) {
      case Retry::kSameRequestId:
      case Retry::kAfterRetryInfo:
        expected = Repeat::kYes;
        break;
      case Retry::kAfterRetryInfoSameRequestId:
        expected = Repeat::kWhenLeaseIsFree;
        break;
      default:
        break;
    }
    EXPECT_EQ(ExplanationOf(row.name).repeat, expected) << row.name;
  }
}

}  // namespace
}  // namespace holdfast::cli
