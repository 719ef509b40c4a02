// Copies of one request over connections of their own: one of them acts, and all are answered
// alike, at once or long after the session has moved on.
#include "tests/support/twins.h"

#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <memory>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;
using test::BeginRequest;
using test::CloseRequest;
using test::CommitRequest;
using test::CreateRequest;
using test::ForceRequest;

constexpr char kTwinSession[] = "twins";

class Twins : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  // Eight copies of `request` are answered alike, and a ninth behind them finds the session as they
  // left it. Returns what they say.
  template <typename Request, typename Reply>
  Reply SendByEight(WireClient::Method<Request, Reply> method, const Request& request) {
    const Reply reply = testing::SendByEight({server_.address()}, method, request);
    ExpectNoEffect(method, request, Said(reply));
    return reply;
  }

  template <typename Request, typename Reply>
  void ExpectNoEffect(WireClient::Method<Request, Reply> method, const Request& request,
                      const std::string& said) {
    testing::ExpectNoEffect(client(), kTwinSession, method, request, said);
  }

  void KillAndRestart() {
    server_.Kill();
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  std::string Create() {
    return client().Must(&Stub::CreateSession, CreateRequest(kTwinSession)).lease_token();
  }
  uint64_t Begin(const std::string& token) {
    return client().Must(&Stub::BeginTurn, BeginRequest(kTwinSession, token)).turn();
  }
  WireClient& client() { return *client_; }

 private:
  TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
};

TEST_F(Twins, CreateOnce) {
  const auto created = SendByEight(&Stub::CreateSession, CreateRequest(kTwinSession));
  EXPECT_EQ(created.session().revision(), 1);
  EXPECT_EQ(client().Get(kTwinSession).last_event(), 1);
  EXPECT_EQ(Begin(created.lease_token()), 1) << "the token that all were given is the session's";
}

TEST_F(Twins, ResumeOnce) {
  Create();
  const auto resumed = SendByEight(&Stub::ResumeSession, ForceRequest(kTwinSession));
  EXPECT_EQ(client().Get(kTwinSession).lease().epoch(), 2);
  EXPECT_EQ(client().Get(kTwinSession).revision(), 2);
  EXPECT_EQ(Begin(resumed.lease_token()), 1) << "the token that all were given is the session's";
}

TEST_F(Twins, BeginOnce) {
  const std::string token = Create();
  const auto begun = SendByEight(&Stub::BeginTurn, BeginRequest(kTwinSession, token));
  EXPECT_EQ(begun.turn(), 1);
  EXPECT_EQ(client().Get(kTwinSession).last_turn(), 1);
  EXPECT_EQ(client().Get(kTwinSession).revision(), 2);
}

TEST_F(Twins, CommitOnce) {
  const std::string token = Create();
  const uint64_t turn = Begin(token);
  const auto committed =
      SendByEight(&Stub::CommitTurn, CommitRequest(kTwinSession, token, turn, "said once"));
  EXPECT_EQ(committed.message_count(), 1);
  EXPECT_EQ(client().Get(kTwinSession).message_count(), 1);
  EXPECT_EQ(client().Get(kTwinSession).revision(), 3);
}

TEST_F(Twins, CloseOnce) {
  const std::string token = Create();
  Begin(token);
  const auto closed = SendByEight(&Stub::CloseSession, CloseRequest(kTwinSession, token));
  EXPECT_EQ(closed.abandoned_turn(), 1);
  EXPECT_EQ(client().Get(kTwinSession).revision(), 3);
}

TEST_F(Twins, ALostReplyIsTheSameLongAfter) {
  const std::string token = Create();
  const auto commit = CommitRequest(kTwinSession, token, Begin(token), "said once");
  const std::string said = Said(client().Must(&Stub::CommitTurn, commit));
  ExpectNoEffect(&Stub::CommitTurn, commit, said);

  client().Must(&Stub::CommitTurn, CommitRequest(kTwinSession, token, Begin(token), "later"));
  ExpectNoEffect(&Stub::CommitTurn, commit, said);
  const uint64_t open = Begin(token);
  ExpectNoEffect(&Stub::CommitTurn, commit, said);
  KillAndRestart();
  ExpectNoEffect(&Stub::CommitTurn, commit, said);

  // Not even a new holder, or the end, makes the old request act or be refused.
  const std::string next =
      client().Must(&Stub::ResumeSession, ForceRequest(kTwinSession)).lease_token();
  ExpectNoEffect(&Stub::CommitTurn, commit, said);
  EXPECT_EQ(client().Reason(&Stub::CommitTurn, CommitRequest(kTwinSession, token, open, "stale")),
            "FENCED");
  client().Must(&Stub::CloseSession, CloseRequest(kTwinSession, next));
  KillAndRestart();
  ExpectNoEffect(&Stub::CommitTurn, commit, said);
  EXPECT_EQ(client().Get(kTwinSession).message_count(), 2);
}

}  // namespace
}  // namespace holdfast::testing
