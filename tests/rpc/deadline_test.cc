// Calls that were cancelled or ran out of time leave no effect; those handed to the store finish.
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/rpc/served.h"
#include "tests/support/channel.h"
#include "tests/support/details.h"
#include "tests/support/golden.h"

#include "absl/strings/numbers.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

class DeadlineRpc : public Served {
 protected:
  DeadlineRpc() { config().server.workers = 1; }

  // Keeps the only worker busy with a read until Free.
  void Occupy(const std::string& id = "one") {
    script().Hold();
    busy_ = std::thread([this, id] { Get(id); });
    script().AwaitWaiting(1);
  }
  void Free() {
    script().Release();
    busy_.join();
  }

  // Holds so much of the memory budget with a commit inside the store that no second request of its
  // size fits, until FreeBudget.
  void FillBudget() {
    config().server.workers = 2;
    config().limits.memory_budget = 16 * kMiB;
    const std::string token = Create("one").lease_token();
    Begin("one", token);
    script().Hold();
    busy_ = std::thread([this, token] { Commit("one", token, 1, std::string(kLarge, 'x')); });
    script().AwaitWaiting(1);
  }
  void FreeBudget() { Free(); }
  static pb::EchoRequest LargeEcho() {
    pb::EchoRequest echo;
    echo.set_payload(std::string(kLarge, 'x'));
    return echo;
  }
  static constexpr size_t kLarge = 3 * kMiB;

  // Sends `request`, then gives it up; answers what its caller sees. One connection keeps the order
  // of what is sent, so an answer that needs no worker says that what came before it has arrived.
  grpc::StatusCode CancelledOnceSent(const pb::BeginTurnRequest& request) {
    grpc::ClientContext context;
    pb::BeginTurnResponse response;
    grpc::Status status;
    absl::Notification ended;
    sessions().async()->BeginTurn(&context, &request, &response, [&](grpc::Status answer) {
      status = std::move(answer);
      ended.Notify();
    });
    AnsweredWithoutAWorker();
    context.TryCancel();
    ended.WaitForNotification();
    AnsweredWithoutAWorker();
    return status.error_code();
  }

  bool Logged(const std::string& part) {
    const std::vector<std::string> lines = LogLines();
    return std::any_of(lines.begin(), lines.end(), [&part](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }

 private:
  void AnsweredWithoutAWorker() {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckResponse answer;
    EXPECT_TRUE(health().Check(&context, {}, &answer).ok());
  }

  std::thread busy_;
};

// A cancel is a race by nature: it is tried until the server's own log says that it came in time.
TEST_F(DeadlineRpc, ACallCancelledInTheQueueHasNoEffect) {
  constexpr int kTries = 50;
  for (int i = 0; i < kTries; ++i) {
    const std::string id = "cancelled-" + std::to_string(i);
    const std::string token = Create(id).lease_token();
    const int commits = script().Commits();
    Occupy(id);
    EXPECT_EQ(CancelledOnceSent(BeginRequest(id, token)), grpc::StatusCode::CANCELLED);
    Free();
    const uint64_t revision = Get(id).revision();  // behind the cancelled call in the queue
    if (!Logged("\"reason\":\"CANCELLED\"")) continue;
    EXPECT_EQ(script().Commits(), commits);
    EXPECT_EQ(revision, 1);
    return;
  }
  FAIL() << "no cancel reached the server before the worker was free";
}

// So is a deadline: on a busy machine it may pass before the server has read the call.
TEST_F(DeadlineRpc, ACallPastItsDeadlineInTheQueueHasNoEffect) {
  constexpr int kTries = 50;
  for (int i = 0; i < kTries; ++i) {
    const std::string id = "late-" + std::to_string(i);
    const std::string token = Create(id).lease_token();
    const int commits = script().Commits();
    Occupy(id);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    pb::BeginTurnResponse response;
    const grpc::Status status = sessions().BeginTurn(&context, BeginRequest(id, token), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    clock().Advance(absl::Seconds(1));  // the server's clock is not behind the client's
    Free();
    const uint64_t revision = Get(id).revision();  // behind the late call in the queue
    EXPECT_EQ(script().Commits(), commits);
    EXPECT_EQ(revision, 1);
    if (Logged("\"reason\":\"DEADLINE\"")) return;
  }
  FAIL() << "no call reached the server before its deadline";
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
  FillBudget();
  EXPECT_GE(app().Resources().memory_bytes, kLarge);
  grpc::ClientContext context;
  const pb::EchoRequest echo = LargeEcho();
  pb::EchoResponse answer;
  const grpc::Status refused = admin().Echo(&context, echo, &answer);
  EXPECT_EQ(ReasonOf(refused), "OVERLOADED");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("field"), "limits.memory_budget");
  FreeBudget();
  grpc::ClientContext again;
  EXPECT_TRUE(admin().Echo(&again, echo, &answer).ok());
}

// What a stock client does: the code is one that it repeats, and the trailer says when.
TEST_F(DeadlineRpc, ACallThatIsOverloadedIsRepeatedByGrpcAfterItsPushback) {
  FillBudget();
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(ReadProjectFile("protos/holdfast/v1/service_config.json"));
  arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, 8 * kMiB);  // larger calls are sent once
  const auto client = pb::AdminService::NewStub(testing::Connected(app().address(), arguments));
  grpc::ClientContext context;
  pb::EchoResponse answer;
  const absl::Time start = absl::Now();
  const grpc::Status refused = client->Echo(&context, LargeEcho(), &answer);
  const absl::Duration took = absl::Now() - start;
  FreeBudget();
  EXPECT_EQ(ReasonOf(refused), "OVERLOADED");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  const std::vector<std::string> lines = LogLines();
  const auto rejected = [](const std::string& line) {
    return line.find("\"reason\":\"OVERLOADED\"") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), rejected), 5);
  EXPECT_GE(took, 4 * kOverloadRetry);
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto pushback = trailers.find("grpc-retry-pushback-ms");
  ASSERT_NE(pushback, trailers.end());
  int64_t wait = 0;
  ASSERT_TRUE(absl::SimpleAtoi({pushback->second.data(), pushback->second.size()}, &wait));
  EXPECT_GE(absl::Milliseconds(wait), kOverloadRetry);
  EXPECT_LE(absl::Milliseconds(wait), 2 * kOverloadRetry);
}

// Its RetryInfo is what is left of another holder's lease: a library must not repeat it by itself.
TEST_F(DeadlineRpc, AHeldLeaseHasNoPushback) {
  Create("one");
  grpc::ClientContext context;
  pb::CloseSessionRequest close;
  close.set_request_id(NewRequestId());
  close.set_session_id("one");
  pb::CloseSessionResponse answer;
  const grpc::Status refused = sessions().CloseSession(&context, close, &answer);
  EXPECT_EQ(ReasonOf(refused), "LEASE_HELD");
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 0);
}

TEST_F(DeadlineRpc, StreamsCountWhatTheyHold) {
  config().server.workers = 2;
  config().limits.memory_budget = 10 * kMiB;
  Create("one");
  script().Hold();
  pb::ReadSessionRequest request;
  request.set_session_id("one");
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<pb::ReadSessionResponse>>> streams;
  // The first holds a page, perhaps a second one does, and each of the others what an idle stream
  // may hold.
  for (int i = 0; i < 110; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(sessions().ReadSession(contexts.back().get(), request));
    if (i == 0) script().AwaitWaiting(1);  // it has its page, whatever becomes of the others
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
  EXPECT_LT(overloaded, 110);
}

}  // namespace
}  // namespace holdfast::test
