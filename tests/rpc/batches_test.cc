// Calls whose changes are committed together, over a real socket.
#include "server/rpc/call/commit_batcher.h"
#include "session/refusal.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"
#include "tests/support/requests.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::HasSubstr;
using Stub = pb::SessionService::Stub;

constexpr int kBatchedSessions = 8;
constexpr int kTwins = 8;

class BatchesRpc : public Served {
 protected:
  BatchesRpc() {
    script().OfferGroups();
    config().server.workers = 2;
  }

  pb::CommitTurnRequest BegunTurn(const std::string& id) {
    const std::string token = Create(id).lease_token();
    return CommitRequest(id, token, Begin(id, token).turn(), "said");
  }
};

TEST_F(BatchesRpc, CommitCallsOfEachKind) {
  const std::string token = Create("one").lease_token();
  const uint64_t turn = Begin("one", token).turn();
  EXPECT_TRUE(Ask(&Stub::AppendJournal, AppendRequest("one", token, turn, 1)).ok());
  Commit("one", token, turn, "said");
  const uint64_t next = Begin("one", token).turn();
  EXPECT_TRUE(Ask(&Stub::AbandonTurn, AbandonRequest("one", token, next)).ok());
  EXPECT_EQ(script().Groups(), 5);
  EXPECT_EQ(Get("one").message_count(), 1U);
}

TEST_F(BatchesRpc, RefuseWithTheirDetails) {
  const std::string token = Create("one").lease_token();
  const uint64_t turn = Begin("one", token).turn();
  const std::string refused = Describe(Ask(&Stub::BeginTurn, BeginRequest("one", token)));
  EXPECT_THAT(refused, HasSubstr("CONCURRENT_TURN"));
  pb::CommitTurnRequest bad = CommitRequest("one", token, turn, "said");
  bad.set_session_id("no such id!");
  EXPECT_THAT(Describe(Ask(&Stub::CommitTurn, bad)), HasSubstr("INVALID_FIELD"));
}

TEST_F(BatchesRpc, OfManySessionsAreCommittedTogether) {
  std::vector<pb::CommitTurnRequest> requests;
  for (int i = 0; i < kBatchedSessions; ++i) requests.push_back(BegunTurn(absl::StrCat("s", i)));
  const int before = script().Groups();
  script().Hold();
  std::vector<std::jthread> calls;
  for (const pb::CommitTurnRequest& request : requests) {
    calls.emplace_back([&] { EXPECT_TRUE(Ask(&Stub::CommitTurn, request).ok()); });
  }
  script().AwaitWaiting(1);
  script().Release();
  calls.clear();
  EXPECT_LE(script().Groups() - before, kBatchedSessions);
  for (int i = 0; i < kBatchedSessions; ++i)
    EXPECT_EQ(Get(absl::StrCat("s", i)).message_count(), 1U);
}

TEST_F(BatchesRpc, OfTwinsActOnceAndAreAnsweredAlike) {
  const pb::CommitTurnRequest request = BegunTurn("one");
  std::vector<pb::CommitTurnResponse> answers(kTwins);
  std::vector<std::jthread> calls;
  for (pb::CommitTurnResponse& answer : answers) {
    calls.emplace_back([&] { EXPECT_TRUE(Ask(&Stub::CommitTurn, request, &answer).ok()); });
  }
  calls.clear();
  for (const pb::CommitTurnResponse& answer : answers) {
    EXPECT_EQ(answer.revision(), answers.front().revision());
  }
  EXPECT_EQ(Get("one").message_count(), 1U);
}

TEST_F(BatchesRpc, WhoseAnswerIsLostActOnce) {
  const pb::CommitTurnRequest request = BegunTurn("one");
  script().LoseGroups();
  EXPECT_TRUE(Ask(&Stub::CommitTurn, request).ok());
  EXPECT_EQ(Get("one").message_count(), 1U);
}

// The second try fails, and says of itself that it did nothing.
TEST_F(BatchesRpc, LeaveWhatMayHaveActedInDoubt) {
  const pb::CommitTurnRequest request = BegunTurn("one");
  script().LoseGroups();
  script().Fail(StoreUnavailable("the database is away", Fate::kNoEffect));
  const std::string refused = Describe(Ask(&Stub::CommitTurn, request));
  script().Fail(absl::OkStatus());
  EXPECT_THAT(refused, HasSubstr("outcome=unknown"));
  EXPECT_TRUE(Ask(&Stub::CommitTurn, request).ok());
  EXPECT_EQ(Get("one").message_count(), 1U);
}

TEST_F(BatchesRpc, OfALargeRequestAreServedAlone) {
  const std::string token = Create("one").lease_token();
  const uint64_t turn = Begin("one", token).turn();
  const int before = script().Groups();
  Commit("one", token, turn, std::string(kBatchedRequestBytes, 'x'));
  EXPECT_EQ(script().Groups(), before);
}

TEST_F(BatchesRpc, EndWithTheServer) {
  const pb::CommitTurnRequest request = BegunTurn("one");
  script().Hold();
  grpc::Status answered;
  {
    const std::jthread call([&] { answered = Ask(&Stub::CommitTurn, request); });
    script().AwaitWaiting(1);
    std::thread stops([this] { EXPECT_EQ(Stop(), 0); });
    script().Release();
    stops.join();
  }
  EXPECT_TRUE(answered.ok()) << Describe(answered);
}

}  // namespace
}  // namespace holdfast::test
