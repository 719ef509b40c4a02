// The end of a server: running calls finish, new ones are refused with a reason, no lease is
// touched.
#include "session/refusal.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <string>
#include <thread>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;
using grpc::health::v1::HealthCheckResponse;

class DrainRpc : public Served {};

TEST_F(DrainRpc, ARunningCallFinishesAndTheLeaseStays) {
  const std::string token = Create("one").lease_token();
  script().Hold();
  grpc::Status status(grpc::StatusCode::UNKNOWN, "");
  std::thread running([&] { status = Ask(&Stub::BeginTurn, BeginRequest("one", token)); });
  script().AwaitWaiting(1);
  app().RequestStop();
  AwaitLog("stopping");
  script().Release();
  running.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Stop(), 0);
  const Head& head = disk().sessions.begin()->second.head;
  EXPECT_TRUE(head.lease.held);
  EXPECT_EQ(head.lifecycle, Lifecycle::kActive);
}

TEST_F(DrainRpc, HealthSaysSoBeforeCallsAreRefused) {
  set_not_serving_wait(absl::Seconds(2));
  Create("one");
  app().RequestStop();
  AwaitLog("stopping");
  HealthCheckResponse response;
  do {
    grpc::ClientContext context;
    ASSERT_TRUE(health().Check(&context, {}, &response).ok());
  } while (response.status() == HealthCheckResponse::SERVING);
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Get("one").session_id(), "one");
  EXPECT_EQ(Stop(), 0);
}

TEST_F(DrainRpc, RefusesLateCallAsStopping) {
  Create("one");
  script().Hold();
  std::thread running([&] { Get("one"); });
  script().AwaitWaiting(1);
  app().RequestStop();
  grpc::Status status;
  while (status.ok()) {
    grpc::ClientContext context;
    pb::EchoResponse answer;
    status = admin().Echo(&context, {}, &answer);
  }
  EXPECT_EQ(Describe(status),
            "UNAVAILABLE STORE_UNAVAILABLE: this server is stopping\n"
            "    ErrorInfo{holdfast STORE_UNAVAILABLE; code=Session/StoreUnavailable; "
            "outcome=known}\n"
            "    RetryInfo{a while}\n"
            "    RequestInfo{TRACE}\n");
  script().Release();
  running.join();
  EXPECT_EQ(Stop(), 0);
}

TEST_F(DrainRpc, ACallThatDoesNotEndIsCutOffAfterTheTimeout) {
  config().server.drain_timeout = absl::Milliseconds(100);
  Create("one");
  script().Hold();
  grpc::Status status;
  std::thread running([&] {
    pb::GetSessionRequest request;
    request.set_session_id("one");
    status = Ask(&Stub::GetSession, request);
  });
  script().AwaitWaiting(1);
  app().RequestStop();
  running.join();  // while the store still holds
  EXPECT_FALSE(status.ok());
  script().Release();
  EXPECT_EQ(Stop(), 0);
}

TEST_F(DrainRpc, AStoreThatFailsStopsTheServer) {
  Create("one");
  script().FailHealth(StoreUnavailable("the disk is gone", Fate::kNoEffect));
  AwaitLog("the store has failed");
  AwaitLog("\"stopped\"");
  EXPECT_EQ(Stop(), 1);
}

TEST_F(DrainRpc, TheSweepClosesSessionsWhoseHolderIsGone) {
  config().recovery.sweep_interval = absl::Seconds(1);
  const std::string token = Create("left").lease_token();
  Begin("left", token);
  clock().Advance(config().recovery.abandon_after + absl::Hours(1));
  EXPECT_NE(AwaitLog("\"sweep\"").find("\"sessions_closed\":1"), std::string::npos);
  EXPECT_EQ(Get("left").close_reason(), pb::CLOSE_REASON_CRASH);
}

}  // namespace
}  // namespace holdfast::test
