// RestoreSession over the wire: back to a revision, the end of a history taken off by several
// clients at once, and its repeats.
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Stub = WireClient::Stub;

constexpr char kLeased[] = "leased";
constexpr char kStack[] = "stack";

void AddMessage(const std::string& text, pb::Message& message) {
  message.set_role("user");
  message.set_content_type("text/plain");
  message.set_data(text);
}

std::vector<std::string> TextsOf(const pb::RestoreSessionResponse& reply) {
  std::vector<std::string> texts;
  for (const pb::Message& message : reply.removed_messages()) texts.push_back(message.data());
  return texts;
}

class Restores : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  void Restart() {
    server_.Kill();
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  // The whole history.
  std::vector<std::string> Texts(const std::string& session) {
    std::vector<std::string> texts;
    pb::ListMessagesRequest list;
    list.set_session_id(session);
    list.set_page_size(7);
    do {
      const auto page = client_->Must(&Stub::ListMessages, list);
      for (const pb::Message& message : page.messages()) texts.push_back(message.data());
      list.set_page_token(page.next_page_token());
    } while (!list.page_token().empty());
    return texts;
  }
  std::string SlotOf(const std::string& session) {
    pb::ListSlotsRequest list;
    list.set_session_id(session);
    list.add_owners("state");
    const auto page = client_->Must(&Stub::ListSlots, list);
    return page.slots_size() == 1 ? page.slots(0).data() : "";
  }

  // A session of kind LEASED, whose turns each add a message, and write a slot of their number.
  void CreateLeased(int turns) {
    token_ = client_->Must(&Stub::CreateSession, test::CreateRequest(kLeased)).lease_token();
    for (int turn = 0; turn < turns; ++turn) AddTurn(absl::StrCat("m", turn));
  }
  int64_t AddTurn(const std::string& text) {
    const auto begun = client_->Must(&Stub::BeginTurn, test::BeginRequest(kLeased, token_));
    pb::CommitTurnRequest commit = test::CommitRequest(kLeased, token_, begun.turn(), text);
    pb::Slot& slot = *commit.add_slots();
    slot.set_owner("state");
    slot.set_version("1.0.0");
    slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
    slot.set_data(text);
    return client_->Must(&Stub::CommitTurn, commit).revision();
  }
  pb::RestoreSessionRequest OfLeased() {
    pb::RestoreSessionRequest request;
    request.set_request_id(test::NewRequestId());
    request.set_session_id(kLeased);
    request.set_lease_token(token_);
    request.set_expected_revision(client_->Get(kLeased).revision());
    return request;
  }

  // A session of kind OPEN with so many messages, the last of which is `count` - 1.
  void CreateStack(int count) {
    pb::CreateSessionRequest create = test::CreateRequest(kStack);
    create.clear_holder();
    create.set_kind(pb::SESSION_KIND_OPEN);
    for (int number = 0; number < count; ++number) {
      AddMessage(std::to_string(number), *create.add_messages());
    }
    client_->Must(&Stub::CreateSession, create);
  }
  static pb::RestoreSessionRequest Pop() {
    pb::RestoreSessionRequest request;
    request.set_request_id(test::NewRequestId());
    request.set_session_id(kStack);
    request.mutable_point()->set_drop_last(1);
    request.set_return_messages(1);
    return request;
  }

  // Takes messages off until there is none; each call is sent until it is answered.
  void PopUntilEmpty(std::map<std::string, int>& popped) {
    WireClient own(server_.address());
    for (;;) {
      const pb::RestoreSessionRequest request = Pop();
      Answer<pb::RestoreSessionResponse> answer;
      WaitUntil([&] {
        answer = own.Ask(&Stub::RestoreSession, request);
        const std::string& reason = answer.verdict.reason;
        const bool gone = reason == absl::StrCat("code ", grpc::StatusCode::UNAVAILABLE);
        return !gone && reason != "STORE_UNAVAILABLE";
      });
      ASSERT_EQ(answer.verdict.reason, "OK") << answer.verdict.message;
      const pb::RestoreSessionResponse& reply = answer.reply;
      if (reply.removed_message_count() == 0) return;
      ASSERT_EQ(reply.removed_messages_size(), 1);
      const std::scoped_lock lock(mutex_);
      ++popped[reply.removed_messages(0).data()];
      ++taken_;
    }
  }

  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings()};
  std::unique_ptr<WireClient> client_;
  std::string token_;
  std::mutex mutex_;
  std::atomic<int> taken_ = 0;
};

TEST_P(Restores, GoBackToARevision) {
  CreateLeased(3);
  const int64_t third = client_->Get(kLeased).revision();
  const int64_t second = third - 2;
  pb::RestoreSessionRequest restore = OfLeased();
  restore.mutable_point()->set_revision(second);
  restore.set_return_messages(5);
  const auto reply = client_->Must(&Stub::RestoreSession, restore);
  EXPECT_EQ(reply.revision(), third + 1);
  EXPECT_EQ(reply.message_count(), 2);
  EXPECT_EQ(reply.removed_message_count(), 1);
  EXPECT_THAT(TextsOf(reply), ElementsAre("m2"));
  EXPECT_EQ(SlotOf(kLeased), "m1");
  EXPECT_THAT(Texts(kLeased), ElementsAre("m0", "m1"));
  // The same again writes nothing, and neither does a repeat.
  const auto repeat = client_->Must(&Stub::RestoreSession, restore);
  EXPECT_TRUE(repeat.repeated());
  EXPECT_EQ(repeat.revision(), third + 1);
  EXPECT_THAT(TextsOf(repeat), ElementsAre("m2"));
  pb::RestoreSessionRequest same = OfLeased();
  same.mutable_point()->set_revision(second);
  EXPECT_EQ(client_->Must(&Stub::RestoreSession, same).revision(), third + 1);
  // What was left is there, and can be restored itself.
  AddTurn("other");
  pb::RestoreSessionRequest back = OfLeased();
  back.mutable_point()->set_revision(third);
  EXPECT_EQ(client_->Must(&Stub::RestoreSession, back).removed_message_count(), 1);
  EXPECT_THAT(Texts(kLeased), ElementsAre("m0", "m1", "m2"));
  EXPECT_EQ(SlotOf(kLeased), "m2");
}

TEST_P(Restores, CutAndAddInOneCall) {
  CreateLeased(4);
  pb::RestoreSessionRequest restore = OfLeased();
  restore.mutable_point()->set_messages(2);
  restore.set_return_messages(1);
  AddMessage("instead", *restore.add_messages());
  const auto reply = client_->Must(&Stub::RestoreSession, restore);
  EXPECT_EQ(reply.message_count(), 3);
  EXPECT_EQ(reply.removed_message_count(), 2);
  EXPECT_THAT(TextsOf(reply), ElementsAre("m3"));
  EXPECT_THAT(Texts(kLeased), ElementsAre("m0", "m1", "instead"));
  // Slots stay: only a revision takes them back.
  EXPECT_EQ(SlotOf(kLeased), "m3");
}

TEST_P(Restores, AreRefusedByName) {
  CreateLeased(2);
  const auto reason = [&](const pb::RestoreSessionRequest& request) {
    return client_->Reason(&Stub::RestoreSession, request);
  };
  pb::RestoreSessionRequest request = OfLeased();
  request.mutable_point()->set_messages(3);
  EXPECT_EQ(reason(request), "INVALID_FIELD");
  request.mutable_point()->set_messages(0);
  request.clear_expected_revision();
  EXPECT_EQ(reason(request), "INVALID_FIELD");
  request = OfLeased();
  request.set_return_messages(kReturnedMessages + 1);
  EXPECT_EQ(reason(request), "TOO_LARGE");
  request = OfLeased();
  request.mutable_point()->set_revision(1000);
  EXPECT_EQ(reason(request), "REVISION_AHEAD");
  request.mutable_point()->set_revision(1);
  for (int turn = 0; turn < 12; ++turn) AddTurn("more");
  request.set_expected_revision(client_->Get(kLeased).revision());
  EXPECT_EQ(reason(request), "REVISION_PRUNED");
  request.clear_lease_token();
  EXPECT_EQ(reason(request), "LEASE_REQUIRED");
  client_->Must(&Stub::BeginTurn, test::BeginRequest(kLeased, token_));
  EXPECT_EQ(reason(OfLeased()), "CONCURRENT_TURN");
  CreateStack(2);
  pb::RestoreSessionRequest blind = Pop();
  blind.mutable_point()->set_messages(1);
  EXPECT_EQ(reason(blind), "INVALID_FIELD");
}

// The spans of the history stay few, however often it is cut in between.
TEST_P(Restores, AlternateWithMessagesForEver) {
  CreateStack(1);
  std::vector<std::string> expected = {"0"};
  for (size_t round = 0; round < 2 * kHistorySpans + 5; ++round) {
    pb::RestoreSessionRequest request;
    request.set_request_id(test::NewRequestId());
    request.set_session_id(kStack);
    request.set_expected_revision(client_->Get(kStack).revision());
    request.mutable_point()->set_drop_last(1);
    expected.pop_back();
    for (const char* name : {"a", "b"}) {
      expected.push_back(absl::StrCat(round, name));
      AddMessage(expected.back(), *request.add_messages());
    }
    const auto reply = client_->Must(&Stub::RestoreSession, request);
    ASSERT_EQ(reply.message_count(), expected.size());
  }
  EXPECT_EQ(Texts(kStack), expected);
  Restart();
  EXPECT_EQ(Texts(kStack), expected);
}

TEST_P(Restores, EightClientsTakeEachMessageOnce) {
  constexpr int kMessages = 120;
  CreateStack(kMessages);
  std::map<std::string, int> popped;
  std::vector<std::jthread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&] { PopUntilEmpty(popped); });
  }
  WaitUntil([&] { return taken_ > kMessages / 3; });
  Restart();
  clients.clear();
  EXPECT_EQ(popped.size(), size_t{kMessages});
  for (const auto& [text, times] : popped) EXPECT_EQ(times, 1) << text;
  EXPECT_THAT(Texts(kStack), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Stores, Restores, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing
