// A holder that is paused past its lease (SIGSTOP), as a laptop that was closed: another one takes
// its session up, and nothing it does when it wakes has any effect.
#include "tests/recovery/holder.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <csignal>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::Each;
using ::testing::EndsWith;
using ::testing::SizeIs;
using Stub = WireClient::Stub;

constexpr char kPausedSession[] = "paused";

// The refusals of a token after a later grant, in lines that RunHolder writes.
constexpr char kOvertaken[] = " FENCED: a later grant";
constexpr char kForged[] = " FENCED: not the token of this grant";

TEST(PausedHolder, WakesUpFencedOffFromEverything) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient successor(server.address());
  Holder holder(folder, server.address(), kPausedSession, kFirstTurn);
  ASSERT_NE(holder.AwaitToken(), "") << holder.Output();

  // While the holder renews its lease, other resumes are refused; once it is paused, the lease
  // expires.
  EXPECT_EQ(successor.Reason(&Stub::ResumeSession, test::ResumeRequest(kPausedSession)),
            "LEASE_HELD");
  holder.Signal(SIGSTOP);
  ASSERT_TRUE(WaitUntil(
      [&] { return successor.Get(kPausedSession).lease().state() != pb::LEASE_STATE_LIVE; }));
  const auto resumed = successor.Must(&Stub::ResumeSession, test::ResumeRequest(kPausedSession));
  EXPECT_EQ(resumed.report().abandoned_turn(), 1);
  const std::string& token = resumed.lease_token();
  const auto begun = successor.Must(&Stub::BeginTurn, test::BeginRequest(kPausedSession, token));
  const std::string before = successor.Everything(kPausedSession);

  holder.Signal(SIGCONT);
  const std::vector<std::string> answers = holder.AwaitAnswers();
  ASSERT_THAT(answers, SizeIs(20)) << holder.Output();
  const auto half = answers.begin() + 10;
  EXPECT_THAT(std::vector<std::string>(answers.begin(), half), Each(EndsWith(kOvertaken)));
  EXPECT_THAT(std::vector<std::string>(half, answers.end()), Each(EndsWith(kForged)));
  EXPECT_EQ(successor.Everything(kPausedSession), before);
  successor.Must(&Stub::CommitTurn,
                 test::CommitRequest(kPausedSession, token, begun.turn(), "in good hands"));
}

}  // namespace
}  // namespace holdfast::testing
