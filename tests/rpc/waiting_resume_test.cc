// ResumeSession with `wait`: it waits for another holder's lease without a worker, and whatever
// ends the wait early leaves no effect.
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <string>
#include <thread>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

class WaitingResumeRpc : public Served {
 protected:
  WaitingResumeRpc() { config().server.workers = 1; }

  static pb::ResumeSessionRequest Waiting(const std::string& id, int64_t seconds = 20) {
    pb::ResumeSessionRequest request = ResumeRequest(id);
    request.mutable_wait()->set_seconds(seconds);
    return request;
  }

  // Sends `request`, and runs `meanwhile` once it waits for the lease.
  template <typename Meanwhile>
  grpc::Status AskWhile(const pb::ResumeSessionRequest& request, Meanwhile meanwhile) {
    grpc::Status status;
    const int loads = script().Loads();
    std::thread resuming([&] { status = Ask(&Stub::ResumeSession, request, &resumed_); });
    script().AwaitLoadAfter(loads);
    meanwhile();
    resuming.join();
    return status;
  }

  void ExpectUntouched(const std::string& token) {
    EXPECT_EQ(Get("one").lease().epoch(), 1);
    EXPECT_TRUE(Ask(&Stub::ReleaseLease, ReleaseRequest("one", token)).ok());
  }

  pb::ResumeSessionResponse resumed_;
};

TEST_F(WaitingResumeRpc, IsGrantedTheLeaseOnceItIsReleased) {
  const std::string token = Create("one").lease_token();
  // The only worker is free for the release.
  const grpc::Status status = AskWhile(Waiting("one"), [&] {
    EXPECT_TRUE(Ask(&Stub::ReleaseLease, ReleaseRequest("one", token)).ok());
  });
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(resumed_.session().lease().epoch(), 2);
  EXPECT_FALSE(resumed_.lease_token().empty());
  EXPECT_NE(resumed_.lease_token(), token);
}

TEST_F(WaitingResumeRpc, IsGrantedTheLeaseOnceItsTimeIsOver) {
  pb::CreateSessionRequest create = CreateRequest("one");
  create.mutable_lease_ttl()->set_seconds(5);
  ASSERT_TRUE(Ask(&Stub::CreateSession, create).ok());
  const grpc::Status status = AskWhile(Waiting("one"), [&] { clock().Advance(absl::Seconds(6)); });
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(resumed_.session().lease().epoch(), 2);
}

TEST_F(WaitingResumeRpc, IsRefusedWhenTheLeaseOutlivesTheWait) {
  const std::string token = Create("one").lease_token();
  const grpc::Status status =
      AskWhile(Waiting("one", 2), [&] { clock().Advance(absl::Seconds(3)); });
  EXPECT_EQ(ReasonOf(status), "LEASE_HELD");
  ExpectUntouched(token);
}

TEST_F(WaitingResumeRpc, IsAnsweredAtOnceWhereThereIsNothingToWaitFor) {
  const std::string token = Create("one").lease_token();
  EXPECT_EQ(ReasonOf(Ask(&Stub::ResumeSession, Waiting("two"))), "SESSION_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Ask(&Stub::ResumeSession, ResumeRequest("one"))), "LEASE_HELD");
  pb::ResumeSessionRequest request = Waiting("one", 31);
  EXPECT_EQ(ReasonOf(Ask(&Stub::ResumeSession, request)), "INVALID_FIELD");
  request = Waiting("one");
  request.mutable_force()->set_reason("the old host is gone");
  EXPECT_EQ(ReasonOf(Ask(&Stub::ResumeSession, request)), "INVALID_FIELD");
  ASSERT_TRUE(Ask(&Stub::ReleaseLease, ReleaseRequest("one", token)).ok());
  request = Waiting("one");
  pb::ResumeSessionResponse first;
  ASSERT_TRUE(Ask(&Stub::ResumeSession, request, &first).ok());
  // A repeat does not wait for the lease that it was granted itself.
  pb::ResumeSessionResponse again;
  ASSERT_TRUE(Ask(&Stub::ResumeSession, request, &again).ok());
  EXPECT_TRUE(again.repeated());
}

TEST_F(WaitingResumeRpc, ACancelLeavesNoEffect) {
  const std::string token = Create("one").lease_token();
  grpc::ClientContext context;
  grpc::Status status;
  const int loads = script().Loads();
  std::thread resuming(
      [&] { status = sessions().ResumeSession(&context, Waiting("one"), &resumed_); });
  script().AwaitLoadAfter(loads);
  context.TryCancel();
  resuming.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_NE(AwaitLog("\"reason\":\"CANCELLED\"").find("ResumeSession"), std::string::npos);
  ExpectUntouched(token);
}

TEST_F(WaitingResumeRpc, TheServersStopLeavesNoEffect) {
  Create("one");
  const grpc::Status status = AskWhile(Waiting("one"), [&] { EXPECT_EQ(Stop(), 0); });
  EXPECT_EQ(ReasonOf(status), "STORE_UNAVAILABLE");
  EXPECT_EQ(disk().sessions.begin()->second.head.lease.epoch, Epoch(1));
}

}  // namespace
}  // namespace holdfast::test
