// A network that carries everything, but slowly and in small pieces.
#include "tests/postgres/faults_fixture.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using PgSlowNetwork = FaultsTest;

// No message and no answer passes in one piece, nor does what a connection begins with.
TEST_F(PgSlowNetwork, CarriesEveryCallAndNothingTwice) {
  constexpr int kAgents = 4;
  constexpr int kTurns = 3;
  gate().Slow({.piece = 200, .delay = absl::Milliseconds(1)});
  gate().Cut();
  std::vector<std::thread> agents;
  for (int i = 0; i < kAgents; ++i) {
    agents.emplace_back([&, i] {
      const std::string session = absl::StrCat("s", i);
      const std::string mine = served().Create(session);
      std::vector<std::string> texts;
      for (int turn = 0; turn < kTurns; ++turn) {
        texts.push_back(absl::StrCat("turn ", turn, " of ", session, std::string(2000, '.')));
        served().TakeTurn(session, mine, texts.back());
      }
      EXPECT_EQ(served().Texts(session), texts);
    });
  }
  for (std::thread& agent : agents) agent.join();
  gate().Open();
  ExpectNormal({});
}

// Its bytes alone take more than twice as long as its caller has patience. It acts all the same,
// and the repeat finds that.
TEST_F(PgSlowNetwork, ReturnsByDeadlineWhenNetworkIsSlow) {
  constexpr size_t kPiece = 256;
  constexpr size_t kPieces = 1200;
  const std::string large(kPiece * kPieces, 'x');
  const auto commit = served().Prepare("one", token(), large);
  gate().Slow({.piece = kPiece, .delay = absl::Milliseconds(2)});
  EXPECT_EQ(served().Commit(commit, absl::Seconds(1)).verdict.reason, "code 4");
  ASSERT_TRUE(Await("SELECT coalesce(sum(messages), 0)::bigint FROM holdfast.session", 1));
  served().CommitAtLast(commit);
  EXPECT_EQ(Number("SELECT coalesce(sum(messages), 0)::bigint FROM holdfast.session"), 1);
  gate().Open();
  ExpectNormal({large});
}

}  // namespace
}  // namespace holdfast::testing
