// The largest batch, over a real socket, with one call in its middle whose client gives up or does
// not read: the others are answered by the batch's one commit, as without it.
#include "server/rpc/call/commit_batcher.h"
#include "tests/rpc/served.h"
#include "tests/support/raw_http2.h"
#include "tests/support/raw_socket.h"
#include "tests/support/requests.h"

#include "absl/strings/str_cat.h"
#include <grpcpp/completion_queue.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::holdfast::testing::RawSocket;
namespace http2 = ::holdfast::testing::http2;

constexpr int kCallsOfABatch = kBatchedCalls;
constexpr int kMiddle = kCallsOfABatch / 2;
constexpr char kSlowClient[] = "127.0.0.2";

// Commits that their client has sent and not waited for.
class SentCommits {
 public:
  ~SentCommits() {
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) {
    }
  }

  void Send(pb::SessionService::Stub& stub, const pb::CommitTurnRequest& request) {
    Call& call = *calls_.emplace_back(std::make_unique<Call>());
    call.answer = stub.AsyncCommitTurn(&call.context, request, &queue_);
    call.answer->Finish(&call.response, &call.status, &call);
  }

  void GiveUp(size_t at) { calls_[at]->context.TryCancel(); }

  // Waits for the answer of each, and answers their codes.
  std::vector<grpc::StatusCode> AwaitAll() {
    void* tag = nullptr;
    bool ok = false;
    for (size_t i = 0; i < calls_.size(); ++i) EXPECT_TRUE(queue_.Next(&tag, &ok));
    std::vector<grpc::StatusCode> codes;
    for (const auto& call : calls_) codes.push_back(call->status.error_code());
    return codes;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    pb::CommitTurnResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<pb::CommitTurnResponse>> answer;
  };

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Call>> calls_;
};

class LargeBatchRpc : public Served {
 protected:
  LargeBatchRpc() { script().OfferGroups(); }

  // Sessions with a turn each; then one more commit is held in the store, so that the next batch
  // fills up behind it.
  void Prepare(int sessions) {
    for (int i = 0; i < sessions; ++i) requests_.push_back(BegunTurn(absl::StrCat("s", i)));
    const pb::CommitTurnRequest first = BegunTurn("first");
    groups_before_ = script().Groups();
    script().Hold();
    first_.emplace();
    first_->Send(this->sessions(), first);
    script().AwaitWaiting(1);
    lookups_before_ = script().Lookups();
  }

  // Sends the commit of session `at` over a connection that has no room for its reply.
  void SendFromSlowClient(int at) {
    slow_.emplace(app().address(), kSlowClient);
    EXPECT_TRUE(
        slow_->Send(http2::OpeningWithoutWindow() +
                    http2::Headers(1, "/holdfast.v1.SessionService/CommitTurn") +
                    http2::LastMessage(1, requests_[static_cast<size_t>(at)].SerializeAsString())));
  }
  void CloseSlowClient() { slow_.reset(); }

  // Waits until so many calls were taken into the batch that fills up.
  void AwaitTaken(int calls) { script().AwaitLookups(lookups_before_ + calls); }

  // Waits until the server knows what the client sent before.
  void AwaitReceived() {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckResponse response;
    EXPECT_TRUE(health().Check(&context, {}, &response).ok());
  }

  // Lets the store go on, and expects that it committed the first call and then all others at once.
  void ExpectOneBatch() {
    script().Release();
    for (const grpc::StatusCode code : first_->AwaitAll()) EXPECT_EQ(code, grpc::StatusCode::OK);
    codes_ = sent_.AwaitAll();
    EXPECT_EQ(script().Groups() - groups_before_, 2);
  }

  // Expects that all of `sent_` but the one at `but` were answered with success.
  void ExpectAnswered(std::optional<size_t> but = std::nullopt) {
    for (size_t i = 0; i < codes_.size(); ++i) {
      if (i == but) continue;
      EXPECT_EQ(codes_[i], grpc::StatusCode::OK) << i;
    }
  }

  uint64_t MessagesOf(int at) { return Get(absl::StrCat("s", at)).message_count(); }

  const pb::CommitTurnRequest& request(int at) { return requests_[static_cast<size_t>(at)]; }
  SentCommits& sent() { return sent_; }

 private:
  pb::CommitTurnRequest BegunTurn(const std::string& id) {
    const std::string token = Create(id).lease_token();
    return CommitRequest(id, token, Begin(id, token).turn(), "said");
  }

  std::vector<pb::CommitTurnRequest> requests_;
  std::optional<SentCommits> first_;
  SentCommits sent_;
  std::vector<grpc::StatusCode> codes_;
  std::optional<RawSocket> slow_;
  int groups_before_ = 0;
  int lookups_before_ = 0;
};

TEST_F(LargeBatchRpc, IsOneCommit) {
  Prepare(kCallsOfABatch);
  for (int i = 0; i < kCallsOfABatch; ++i) sent().Send(sessions(), request(i));
  AwaitTaken(kCallsOfABatch);
  ExpectOneBatch();
  ExpectAnswered();
  for (int i = 0; i < kCallsOfABatch; ++i) EXPECT_EQ(MessagesOf(i), 1U) << i;
}

// What was taken is finished: its client may repeat it.
TEST_F(LargeBatchRpc, CommitsACallThatWasGivenUpAfterItWasTaken) {
  Prepare(kCallsOfABatch);
  for (int i = 0; i < kCallsOfABatch; ++i) sent().Send(sessions(), request(i));
  AwaitTaken(kCallsOfABatch);
  sent().GiveUp(kMiddle);
  AwaitReceived();
  ExpectOneBatch();
  ExpectAnswered(kMiddle);
  for (int i = 0; i < kCallsOfABatch; ++i) EXPECT_EQ(MessagesOf(i), 1U) << i;
  pb::CommitTurnResponse again;
  EXPECT_TRUE(Ask(&pb::SessionService::Stub::CommitTurn, request(kMiddle), &again).ok());
  EXPECT_TRUE(again.repeated());
}

// It would have been the first one of the next batch.
TEST_F(LargeBatchRpc, DropsACallThatWasGivenUpWhileItWaited) {
  Prepare(kCallsOfABatch + 1);
  for (int i = 0; i < kCallsOfABatch; ++i) sent().Send(sessions(), request(i));
  AwaitTaken(kCallsOfABatch);
  sent().Send(sessions(), request(kCallsOfABatch));
  sent().GiveUp(kCallsOfABatch);
  AwaitReceived();
  ExpectOneBatch();
  ExpectAnswered(kCallsOfABatch);
  for (int i = 0; i < kCallsOfABatch; ++i) EXPECT_EQ(MessagesOf(i), 1U) << i;
  EXPECT_EQ(MessagesOf(kCallsOfABatch), 0U);
}

TEST_F(LargeBatchRpc, DoesNotWaitForAClientThatDoesNotRead) {
  Prepare(kCallsOfABatch);
  for (int i = 0; i < kCallsOfABatch; ++i) {
    if (i == kMiddle) {
      SendFromSlowClient(i);
    } else {
      sent().Send(sessions(), request(i));
    }
  }
  AwaitTaken(kCallsOfABatch);
  ExpectOneBatch();
  ExpectAnswered();
  for (int i = 0; i < kCallsOfABatch; ++i) EXPECT_EQ(MessagesOf(i), 1U) << i;
  CloseSlowClient();
}

}  // namespace
}  // namespace holdfast::test
