// A server that gets no large object for a while: groups of changes, rotations and replies that
// need one throw. Every turn is there exactly once, and what needs little is served meanwhile.
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"
#include "tests/support/wrong_clock.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr int kAgents = 8;
constexpr int kTurnsOfEach = 5;  // in each phase
// Three of them are too large together, and so is a journal that is due to be rotated.
constexpr size_t kMessageBytes = 450 * 1024;
constexpr size_t kLargeBytes = 2 * 1024 * 1024;

class NoRoom : public ::testing::TestWithParam<StoreKind> {
 protected:
  struct Agent {
    explicit Agent(const std::string& address) : client(address) {}
    WireClient client;
    std::string session;
    std::string token;
    uint64_t turns = 0;
  };

  void SetUp() override {
    const ScopedEnvironment preloaded(
        {{"LD_PRELOAD", Program("../tests/libno_room.so")},
         {"HOLDFAST_NO_ROOM", switch_},
         // a sanitizer's build takes it, too
         {"ASAN_OPTIONS", "verify_asan_link_order=0:alloc_dealloc_mismatch=0"}});
    ASSERT_TRUE(server_.Start()) << server_.Log();
  }

  // Until the call is answered as it is when there is room.
  template <typename Request, typename Reply>
  static Reply Insist(Agent& agent, WireClient::Method<Request, Reply> method,
                      const Request& request) {
    Answer<Reply> answer;
    EXPECT_TRUE(WaitUntil([&] {
      answer = agent.client.Ask(method, request);
      return answer.verdict.reason == "OK";
    })) << answer.verdict.reason;
    return answer.reply;
  }

  static void TakeTurn(Agent& agent, size_t bytes) {
    const auto begun =
        Insist(agent, &Stub::BeginTurn, test::BeginRequest(agent.session, agent.token));
    Insist(agent, &Stub::CommitTurn,
           test::CommitRequest(agent.session, agent.token, begun.turn(), std::string(bytes, 'm')));
    ++agent.turns;
  }
  static void TakeTurns(Agent& agent) {
    for (int turn = 0; turn < kTurnsOfEach; ++turn) TakeTurn(agent, kMessageBytes);
  }
  void TakeTurnsAtOnce() {
    std::vector<std::jthread> threads;
    threads.reserve(agents_.size());
    for (const auto& agent : agents_) threads.emplace_back([&] { TakeTurns(*agent); });
  }

  const TestFolder folder_;
  const std::string switch_ = folder_.File("no-room");
  const StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings()};
  std::vector<std::unique_ptr<Agent>> agents_;
};

TEST_P(NoRoom, CostsNoTurnAndEndsNoServer) {
  for (int i = 0; i < kAgents; ++i) {
    agents_.push_back(std::make_unique<Agent>(server_.address()));
    agents_.back()->session = absl::StrCat("agent-", i);
    agents_.back()->token =
        agents_.back()
            ->client.Must(&Stub::CreateSession, test::CreateRequest(agents_.back()->session))
            .lease_token();
  }
  TakeTurn(*agents_.front(), kLargeBytes);
  TakeTurnsAtOnce();
  std::ofstream(switch_).close();
  EXPECT_EQ(agents_.front()->client.ReadWhole(agents_.front()->session).reason, "INTERNAL");
  TakeTurnsAtOnce();
  EXPECT_TRUE(server_.AwaitLog("bad_alloc"));
  std::filesystem::remove(switch_);
  TakeTurnsAtOnce();
  for (const auto& agent : agents_) {
    EXPECT_EQ(agent->client.ReadWhole(agent->session).reason, "OK");
    EXPECT_EQ(agent->client.Get(agent->session).message_count(), agent->turns);
  }
  agents_.clear();
  EXPECT_EQ(server_.Stop().exit_code, 0) << server_.Log();
}

INSTANTIATE_TEST_SUITE_P(Stores, NoRoom, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing
