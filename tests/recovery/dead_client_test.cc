// A client that dies while it holds a session. A forced resume takes the session at once, an
// ordinary one when the lease has expired, and one with the client's token at any time.
#include "tests/recovery/holder.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;
using Time = std::chrono::steady_clock::time_point;

Time Now() { return std::chrono::steady_clock::now(); }

// A resume that was admitted at last.
struct AdmittedResume {
  pb::ResumeSessionResponse reply;
  Time earliest;  // the lease ends between these two, by the first refusal's RetryInfo
  Time latest;
};

class DeadClient : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  // Starts a client for a session of each state, named after it, and kills them all.
  void HoldAndDie() {
    std::map<std::string, std::unique_ptr<Holder>> holders;
    for (const std::string state : kHeldStates) {
      holders[state] = std::make_unique<Holder>(folder_, server_.address(), state, state);
    }
    for (const auto& [state, holder] : holders) {
      tokens_[state] = holder->AwaitToken();
      ASSERT_NE(tokens_[state], "") << holder->Output();
    }
    for (const auto& [state, holder] : holders) holder->Kill();
  }

  void KillAndRestart() {
    server_.Kill();
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
  }

  // Sends one resume again and again until it is admitted: LEASE_HELD until the time that the first
  // refusal named, and never after.
  AdmittedResume ResumeWithPatience(const std::string& session) {
    const pb::ResumeSessionRequest request = test::ResumeRequest(session);
    AdmittedResume in{.earliest = Time::min(), .latest = Time::max()};
    const bool done = WaitUntil([&] {
      const Time sent = Now();
      const auto answer = client().Ask(&Stub::ResumeSession, request);
      in.reply = answer.reply;
      if (answer.verdict.reason != "LEASE_HELD") {
        EXPECT_EQ(answer.verdict.reason, "OK") << answer.verdict.message;
        return true;
      }
      EXPECT_LE(sent, in.latest) << "refused after retry_after had passed";
      if (in.latest == Time::max()) {
        EXPECT_LE(answer.verdict.retry_after, kShortLease);
        const auto wait = absl::ToChronoNanoseconds(answer.verdict.retry_after.value());
        in.earliest = sent + wait;
        in.latest = Now() + wait;
      }
      return false;
    });
    EXPECT_TRUE(done) << session;
    EXPECT_NE(in.latest, Time::max()) << session << " was not held";
    EXPECT_GE(Now(), in.earliest) << "admitted before retry_after had passed";
    return in;
  }

  // The report names the previous holder and what was lost, and the new holder takes a whole turn.
  void ExpectTakenOver(const std::string& state, const pb::ResumeSessionResponse& resumed) {
    EXPECT_EQ(resumed.report().previous_holder(), "agent");
    EXPECT_EQ(resumed.report().abandoned_turn(), state == kFirstTurn ? 1 : 0);
    EXPECT_EQ(resumed.report().entries_after_snapshot(), state == kFirstTurn ? 1 : 0);
    EXPECT_EQ(resumed.session().lifecycle(), pb::LIFECYCLE_RESUMED);
    const std::string& token = resumed.lease_token();
    const auto begun = client().Must(&Stub::BeginTurn, test::BeginRequest(state, token));
    client().Must(&Stub::CommitTurn, test::CommitRequest(state, token, begun.turn(), "taken up"));
    EXPECT_EQ(client().Get(state).lifecycle(), pb::LIFECYCLE_PERSISTED);
    EXPECT_EQ(client().Reason(&Stub::BeginTurn, test::BeginRequest(state, tokens_[state])),
              "FENCED");
  }

  // A resume with the dead client's own token writes nothing, and the session is as it was held.
  void ExpectOwnTokenIsEnough(const std::string& state) {
    const std::string before = client().Everything(state);
    pb::ResumeSessionRequest request = test::ResumeRequest(state);
    request.set_lease_token(tokens_[state]);
    const auto resumed = client().Must(&Stub::ResumeSession, request);
    EXPECT_EQ(resumed.lease_token(), tokens_[state]);
    EXPECT_EQ(resumed.session().lease().state(), pb::LEASE_STATE_LIVE);
    EXPECT_EQ(client().Everything(state), before);
  }

  WireClient& client() { return *client_; }
  std::map<std::string, std::string>& tokens() { return tokens_; }
  ServerProcess& server() { return server_; }

 private:
  TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
  std::map<std::string, std::string> tokens_;  // by state, which is the session's name too
};

TEST_F(DeadClient, IsFollowedAtOnceByForce) {
  HoldAndDie();
  for (const std::string state : kHeldStates) {
    SCOPED_TRACE(state);
    EXPECT_EQ(client().Get(state).lease().state(), pb::LEASE_STATE_LIVE);
    EXPECT_EQ(client().Reason(&Stub::ResumeSession, test::ResumeRequest(state)), "LEASE_HELD");
    ExpectTakenOver(state, client().Must(&Stub::ResumeSession, test::ForceRequest(state)));
  }
}

TEST_F(DeadClient, IsFollowedWithoutForceWhenItsLeaseHasRunOut) {
  HoldAndDie();
  // The first is waited for; the leases of the others run out beside it.
  const AdmittedResume in = ResumeWithPatience(kIdle);
  ExpectTakenOver(kIdle, in.reply);
  for (const std::string state : {kFirstTurn, kResumed}) {
    SCOPED_TRACE(state);
    ASSERT_TRUE(
        WaitUntil([&] { return client().Get(state).lease().state() != pb::LEASE_STATE_LIVE; }));
    ExpectTakenOver(state, client().Must(&Stub::ResumeSession, test::ResumeRequest(state)));
  }
}

TEST_F(DeadClient, HoldsItsSessionForOneWholeLeaseAfterARestart) {
  HoldAndDie();
  const auto lease = absl::ToChronoNanoseconds(kShortLease);
  const Time killed = Now();
  KillAndRestart();
  const Time serves = Now();
  EXPECT_EQ(client().Reason(&Stub::ResumeSession, test::ResumeRequest(kResumed)), "LEASE_HELD");
  const AdmittedResume in = ResumeWithPatience(kFirstTurn);
  EXPECT_GE(in.latest, killed + lease) << "the whole lease counts from the server's start";
  EXPECT_LE(in.earliest, serves + lease) << "the whole lease counts from the server's start";
  ExpectTakenOver(kFirstTurn, in.reply);
  ExpectTakenOver(kIdle, client().Must(&Stub::ResumeSession, test::ForceRequest(kIdle)));
}

TEST_F(DeadClient, ItsOwnTokenIsAlwaysEnough) {
  HoldAndDie();
  for (const std::string state : kHeldStates) ExpectOwnTokenIsEnough(state);
  KillAndRestart();
  for (const std::string state : kHeldStates) ExpectOwnTokenIsEnough(state);
  for (const std::string state : kHeldStates) {
    SCOPED_TRACE(state);
    ASSERT_TRUE(
        WaitUntil([&] { return client().Get(state).lease().state() != pb::LEASE_STATE_LIVE; }));
    pb::ResumeSessionRequest request = test::ResumeRequest(state);
    request.set_lease_token(tokens()[state]);
    EXPECT_EQ(client().Must(&Stub::ResumeSession, request).lease_token(), tokens()[state]);
    EXPECT_EQ(client().Get(state).lease().epoch(), state == kResumed ? 2 : 1);
  }
  // The turn that was open is open still, and the token's holder ends it.
  client().Must(&Stub::CommitTurn,
                test::CommitRequest(kFirstTurn, tokens()[kFirstTurn], 1, "after all"));
  EXPECT_EQ(client().Get(kFirstTurn).message_count(), 1);
}

TEST_F(DeadClient, ADroppedConnectionAloneGivesNothingAway) {
  for (const std::string state : kHeldStates) {
    SCOPED_TRACE(state);
    {
      WireClient dropped(server().address());
      tokens()[state] = Bring(dropped, state, state);
    }
    EXPECT_EQ(client().Reason(&Stub::ResumeSession, test::ResumeRequest(state)), "LEASE_HELD");
    ExpectOwnTokenIsEnough(state);
    ExpectTakenOver(state, client().Must(&Stub::ResumeSession, test::ForceRequest(state)));
  }
}

}  // namespace
}  // namespace holdfast::testing
