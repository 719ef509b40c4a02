// A client that is paused (SIGSTOP) while it takes turns in a hundred sessions: another one takes
// them up at another server, by patience and by force, and nothing that the paused one does when it
// wakes has any effect.
#include "tests/postgres/crowd.h"
#include "tests/postgres/server_group.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::Each;
using ::testing::EndsWith;
using ::testing::SizeIs;
using Stub = WireClient::Stub;

constexpr size_t kCrowdSessions = 100;
constexpr int kCrowdPauses = 10;
// It is paused when so many were acknowledged, in every session one: then no resume of it is under
// way that could come behind its successor's.
constexpr size_t kTurnsBefore = 2 * kCrowdSessions;
constexpr size_t kTriedLate = 8;  // the call that was refused, and seven with the token after it
constexpr absl::Duration kShort = absl::Seconds(5);
constexpr absl::Duration kLong = absl::Minutes(10);

class PausedCrowd : public ::testing::Test {
 protected:
  void SetUp() override {
    group_.MakeStore();
    group_.Add();
    group_.Add();
    for (size_t number = 0; number < kCrowdSessions; ++number) {
      group_.client(0).Must(&Stub::CreateSession, test::CreateRequest(CrowdSession(number)));
    }
  }

  // `resume` is what the successors ask for, until they get it.
  void Round(int number, absl::Duration ttl,
             pb::ResumeSessionRequest (*resume)(const std::string&)) {
    const std::string name = absl::StrCat("round-", number);
    const size_t theirs = number % 2;
    Crowd crowd(folder_, group_.server(theirs).address(), name, kCrowdSessions, ttl);
    ASSERT_TRUE(WaitUntil([&] {
      const CrowdReport report = crowd.Report();
      return report.Said() >= kTurnsBefore &&
             std::ranges::none_of(report.said, [](const auto& said) { return said.empty(); });
    })) << crowd.Errors();
    crowd.Signal(SIGSTOP);
    const size_t before = crowd.Report().Said();
    const std::string text = absl::StrCat("successor ", number);
    ForEachSession([&](size_t session) {
      TakeUp(group_.client(1 - theirs), resume(CrowdSession(session)), text);
    });
    crowd.Signal(SIGCONT);
    ASSERT_TRUE(crowd.Ends()) << crowd.Report().Said() - before << " turns after it was paused";
    EXPECT_EQ(crowd.Errors(), "");
    const CrowdReport report = crowd.Report();
    std::cout << name << ": " << before << " turns, and " << report.Said() - before
              << " that were under way\n";
    for (size_t session = 0; session < kCrowdSessions; ++session) {
      EXPECT_THAT(report.refused[session], SizeIs(kTriedLate)) << session;
      EXPECT_THAT(report.refused[session], Each(EndsWith(" FENCED"))) << session;
      auto& expected = expected_[session];
      expected.insert(expected.end(), report.said[session].begin(), report.said[session].end());
      expected.push_back(text);
    }
  }

  void ExpectWhatWasSaid() {
    for (size_t session = 0; session < kCrowdSessions; ++session) {
      EXPECT_EQ(Messages(CrowdSession(session)), expected_[session]) << session;
    }
  }

  ServerGroup group_;

 private:
  static void ForEachSession(const std::function<void(size_t)>& act) {
    std::vector<std::jthread> threads;
    for (size_t session = 0; session < kCrowdSessions; ++session) {
      threads.emplace_back([&act, session] { act(session); });
    }
  }
  static void TakeUp(WireClient& client, const pb::ResumeSessionRequest& resume,
                     const std::string& text) {
    const std::string& id = resume.session_id();
    Answer<pb::ResumeSessionResponse> resumed;
    EXPECT_TRUE(WaitUntil([&] {
      resumed = client.Ask(&Stub::ResumeSession, resume);
      return resumed.verdict.reason != "LEASE_HELD";
    }));
    EXPECT_EQ(resumed.verdict.reason, "OK") << id;
    const std::string& token = resumed.reply.lease_token();
    const auto begun = client.Must(&Stub::BeginTurn, test::BeginRequest(id, token));
    client.Must(&Stub::CommitTurn, test::CommitRequest(id, token, begun.turn(), text));
  }
  std::vector<std::string> Messages(const std::string& id) {
    std::vector<std::string> texts;
    pb::ListMessagesRequest request;
    request.set_session_id(id);
    for (bool end = false; !end;) {
      const auto page = group_.client(0).Must(&Stub::ListMessages, request);
      for (const pb::Message& message : page.messages()) texts.push_back(message.data());
      request.set_page_token(page.next_page_token());
      end = request.page_token().empty();
    }
    return texts;
  }

  const TestFolder folder_;
  std::vector<std::vector<std::string>> expected_{kCrowdSessions};
};

TEST_F(PausedCrowd, NothingItDoesWhenItWakesHasAnyEffect) {
  ASSERT_NO_FATAL_FAILURE(Round(0, kShort, test::ResumeRequest));
  for (int round = 1; round < kCrowdPauses; ++round) {
    ASSERT_NO_FATAL_FAILURE(Round(round, kLong, test::ForceRequest));
  }
  ExpectWhatWasSaid();
  EXPECT_TRUE(group_.AllRunning());
}

}  // namespace
}  // namespace holdfast::testing
