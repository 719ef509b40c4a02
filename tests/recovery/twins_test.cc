// Copies of one request over connections of their own: one of them acts, and all are answered
// alike, at once or long after the session has moved on.
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <array>
#include <barrier>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;
using test::BeginRequest;
using test::CloseRequest;
using test::CommitRequest;
using test::CreateRequest;
using test::ForceRequest;

constexpr int kTwins = 8;
constexpr char kSession[] = "twins";

// A reply as the text that every copy of its request must be answered with.
template <typename Reply>
std::string Said(Reply reply) {
  reply.clear_repeated();
  if constexpr (requires { reply.mutable_session(); }) {
    if (reply.has_session()) reply.mutable_session()->mutable_lease()->clear_expires_in();
  }
  return reply.DebugString();
}

class Twins : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  // Sends `request` eight times at once. One copy acts, all answers say the same, and a ninth copy
  // behind them finds the session as the eight left it. Returns what they say.
  template <typename Request, typename Reply>
  Reply SendByEight(WireClient::Method<Request, Reply> method, const Request& request) {
    std::array<Answer<Reply>, kTwins> answers;
    std::vector<std::thread> twins;
    std::barrier together(kTwins);
    for (Answer<Reply>& answer : answers) {
      twins.emplace_back([&] {
        WireClient twin(server_.address());
        twin.Ask(&Stub::GetSession, pb::GetSessionRequest());  // the connection stands
        together.arrive_and_wait();
        answer = twin.Ask(method, request);
      });
    }
    for (std::thread& twin : twins) twin.join();
    std::set<std::string> said;
    int acted = 0;
    for (const Answer<Reply>& answer : answers) {
      EXPECT_EQ(answer.verdict.reason, "OK") << answer.verdict.message;
      if (!answer.reply.repeated()) ++acted;
      said.insert(Said(answer.reply));
    }
    EXPECT_EQ(acted, 1);
    EXPECT_EQ(said.size(), 1) << "different replies:\n" << *said.begin() << *said.rbegin();
    ExpectNoEffect(method, request, *said.begin());
    return answers[0].reply;
  }

  // One more copy of `request` says `said` and changes nothing.
  template <typename Request, typename Reply>
  void ExpectNoEffect(WireClient::Method<Request, Reply> method, const Request& request,
                      const std::string& said) {
    const std::string before = client().Everything(kSession);
    const Reply again = client().Must(method, request);
    EXPECT_TRUE(again.repeated());
    EXPECT_EQ(Said(again), said);
    EXPECT_EQ(client().Everything(kSession), before);
  }

  void KillAndRestart() {
    server_.Kill();
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  std::string Create() {
    return client().Must(&Stub::CreateSession, CreateRequest(kSession)).lease_token();
  }
  uint64_t Begin(const std::string& token) {
    return client().Must(&Stub::BeginTurn, BeginRequest(kSession, token)).turn();
  }
  WireClient& client() { return *client_; }

 private:
  TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
};

TEST_F(Twins, CreateOnce) {
  const auto created = SendByEight(&Stub::CreateSession, CreateRequest(kSession));
  EXPECT_EQ(created.revision(), 1);
  EXPECT_EQ(client().Get(kSession).last_event(), 1);
  EXPECT_EQ(Begin(created.lease_token()), 1) << "the token that all were given is the session's";
}

TEST_F(Twins, ResumeOnce) {
  Create();
  const auto resumed = SendByEight(&Stub::ResumeSession, ForceRequest(kSession));
  EXPECT_EQ(client().Get(kSession).lease().epoch(), 2);
  EXPECT_EQ(client().Get(kSession).revision(), 2);
  EXPECT_EQ(Begin(resumed.lease_token()), 1) << "the token that all were given is the session's";
}

TEST_F(Twins, BeginOnce) {
  const std::string token = Create();
  const auto begun = SendByEight(&Stub::BeginTurn, BeginRequest(kSession, token));
  EXPECT_EQ(begun.turn(), 1);
  EXPECT_EQ(client().Get(kSession).last_turn(), 1);
  EXPECT_EQ(client().Get(kSession).revision(), 2);
}

TEST_F(Twins, CommitOnce) {
  const std::string token = Create();
  const uint64_t turn = Begin(token);
  const auto committed =
      SendByEight(&Stub::CommitTurn, CommitRequest(kSession, token, turn, "said once"));
  EXPECT_EQ(committed.message_count(), 1);
  EXPECT_EQ(client().Get(kSession).message_count(), 1);
  EXPECT_EQ(client().Get(kSession).revision(), 3);
}

TEST_F(Twins, CloseOnce) {
  const std::string token = Create();
  Begin(token);
  const auto closed = SendByEight(&Stub::CloseSession, CloseRequest(kSession, token));
  EXPECT_EQ(closed.abandoned_turn(), 1);
  EXPECT_EQ(client().Get(kSession).revision(), 3);
}

TEST_F(Twins, ALostReplyIsTheSameLongAfter) {
  const std::string token = Create();
  const auto commit = CommitRequest(kSession, token, Begin(token), "said once");
  const std::string said = Said(client().Must(&Stub::CommitTurn, commit));
  ExpectNoEffect(&Stub::CommitTurn, commit, said);

  client().Must(&Stub::CommitTurn, CommitRequest(kSession, token, Begin(token), "later"));
  ExpectNoEffect(&Stub::CommitTurn, commit, said);
  const uint64_t open = Begin(token);
  ExpectNoEffect(&Stub::CommitTurn, commit, said);
  KillAndRestart();
  ExpectNoEffect(&Stub::CommitTurn, commit, said);

  // Not even a new holder, or the end, makes the old request act or be refused.
  const std::string next =
      client().Must(&Stub::ResumeSession, ForceRequest(kSession)).lease_token();
  ExpectNoEffect(&Stub::CommitTurn, commit, said);
  EXPECT_EQ(client().Reason(&Stub::CommitTurn, CommitRequest(kSession, token, open, "stale")),
            "FENCED");
  client().Must(&Stub::CloseSession, CloseRequest(kSession, next));
  KillAndRestart();
  ExpectNoEffect(&Stub::CommitTurn, commit, said);
  EXPECT_EQ(client().Get(kSession).message_count(), 2);
}

}  // namespace
}  // namespace holdfast::testing
