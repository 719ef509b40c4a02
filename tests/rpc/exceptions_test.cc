// An exception ends the call that met it, and nothing else.
#include "server/worker_pool.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include "absl/synchronization/notification.h"
#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using Stub = pb::SessionService::Stub;

constexpr char kInternal[] =
    "INTERNAL INTERNAL: an internal error\n"
    "    ErrorInfo{holdfast INTERNAL}\n"
    "    RequestInfo{TRACE}\n";

class ExceptionsRpc : public Served {};

TEST_F(ExceptionsRpc, AnswersInternalAndServesOn) {
  config().server.workers = 1;
  Create("one");
  script().Throw(true);
  pb::GetSessionRequest request;
  request.set_session_id("one");
  // More often than there are workers: each goes on with the next call.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Describe(Ask(&Stub::GetSession, request)), kInternal);
  script().Throw(false);
  EXPECT_TRUE(Ask(&Stub::GetSession, request).ok());
  const std::string line = AwaitLog("exception");
  EXPECT_THAT(line, HasSubstr("\"method\":\"GetSession\""));
  EXPECT_THAT(line, HasSubstr("\"session\":\"one\""));
  EXPECT_THAT(line, HasSubstr("an exception that a test asked for"));
}

TEST_F(ExceptionsRpc, EndsADrainingCloseWithInternal) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  script().Throw(true);
  pb::CloseSessionRequest request = CloseRequest("one", token);
  request.mutable_drain()->set_seconds(30);
  EXPECT_EQ(Describe(Ask(&Stub::CloseSession, request)), kInternal);
  script().Throw(false);
  EXPECT_EQ(Get("one").lifecycle(), pb::LIFECYCLE_ACTIVE);
}

TEST(WorkerPool, GoesOnBehindATaskThatThrows) {
  absl::Notification done;
  WorkerPool pool({.workers = 1, .queued = 2});
  ASSERT_TRUE(pool.Submit([] { throw std::runtime_error("an exception that a test asked for"); }));
  ASSERT_TRUE(pool.Submit([&] { done.Notify(); }));
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Minutes(1)));
}

}  // namespace
}  // namespace holdfast::test
