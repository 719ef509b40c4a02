// Calls that nobody waits for any more leave no effect; those handed to the store finish.
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

class DeadlineRpc : public Served {
 protected:
  DeadlineRpc() { config().server.workers = 1; }

  // Keeps the only worker busy with a read until Free.
  void Occupy() {
    script().Hold();
    busy_ = std::thread([this] { Get("one"); });
    script().AwaitWaiting(1);
  }
  void Free() {
    script().Release();
    busy_.join();
  }

 private:
  std::thread busy_;
};

TEST_F(DeadlineRpc, ACallCancelledInTheQueueHasNoEffect) {
  const std::string token = Create("one").lease_token();
  const int commits = script().Commits();
  Occupy();
  grpc::ClientContext context;
  pb::BeginTurnResponse response;
  grpc::Status status;
  std::thread caller(
      [&] { status = sessions().BeginTurn(&context, BeginRequest("one", token), &response); });
  context.TryCancel();
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  Free();
  Stop();  // whatever was queued has been through
  EXPECT_EQ(script().Commits(), commits);
  EXPECT_EQ(disk().sessions.begin()->second.head.revision.value(), 1);
}

TEST_F(DeadlineRpc, ACallPastItsDeadlineInTheQueueHasNoEffect) {
  const std::string token = Create("one").lease_token();
  const int commits = script().Commits();
  Occupy();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  pb::BeginTurnResponse response;
  const grpc::Status status = sessions().BeginTurn(&context, BeginRequest("one", token), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  clock().Advance(absl::Seconds(1));  // the server's clock is not behind the client's
  Free();
  EXPECT_NE(AwaitLog("BeginTurn").find("\"reason\":\"DEADLINE\""), std::string::npos);
  EXPECT_EQ(script().Commits(), commits);
}

TEST_F(DeadlineRpc, AWriteThatTheStoreHasFinishesWithoutItsCaller) {
  const std::string token = Create("one").lease_token();
  script().Hold();
  grpc::ClientContext context;
  pb::BeginTurnResponse response;
  const pb::BeginTurnRequest request = BeginRequest("one", token);
  std::thread caller([&] { (void)sessions().BeginTurn(&context, request, &response); });
  script().AwaitWaiting(1);
  context.TryCancel();
  caller.join();
  script().Release();
  // The same request again is answered with what the first one did.
  pb::BeginTurnResponse again;
  ASSERT_TRUE(Ask(&Stub::BeginTurn, request, &again).ok());
  EXPECT_TRUE(again.repeated());
  EXPECT_EQ(again.turn(), 1);
}

TEST_F(DeadlineRpc, TheMemoryBudgetBoundsWhatRunsAtOnce) {
  // One request of 3 MiB fits the budget, a second one beside it does not.
  config().server.workers = 2;
  config().limits.memory_budget = 4 * kMiB * kParsedBytesPerWireByte;
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  script().Hold();
  std::thread large([&] { Commit("one", token, 1, std::string(3 * kMiB, 'x')); });
  script().AwaitWaiting(1);
  grpc::ClientContext context;
  pb::EchoRequest echo;
  echo.set_payload(std::string(3 * kMiB, 'x'));
  pb::EchoResponse answer;
  const grpc::Status refused = admin().Echo(&context, echo, &answer);
  EXPECT_EQ(ReasonOf(refused), "OVERLOADED");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("field"), "limits.memory_budget");
  script().Release();
  large.join();
  grpc::ClientContext again;
  EXPECT_TRUE(admin().Echo(&again, echo, &answer).ok());
}

TEST_F(DeadlineRpc, StreamsCountWhatTheyHold) {
  config().server.workers = 2;
  config().limits.memory_budget = 400 * kMiB;
  Create("one");
  script().Hold();
  pb::ReadSessionRequest request;
  request.set_session_id("one");
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<pb::ReadSessionResponse>>> streams;
  for (int i = 0; i < 110; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(sessions().ReadSession(contexts.back().get(), request));
  }
  // What the budget does not hold is refused while the others still wait for the store.
  AwaitLog("OVERLOADED");
  script().Release();
  int overloaded = 0;
  for (const auto& stream : streams) {
    pb::ReadSessionResponse item;
    while (stream->Read(&item)) {
    }
    if (ReasonOf(stream->Finish()) == "OVERLOADED") ++overloaded;
  }
  EXPECT_GE(overloaded, 1);
}

}  // namespace
}  // namespace holdfast::test
