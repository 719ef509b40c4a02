// The first promise, from outside: conversations are driven while the server is killed again and
// again with calls in flight, and at the end another process finds every message as it was
// recorded.
#include "tests/recovery/replay_under_way.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <iostream>
#include <string>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kReplayKills = 12;
// So many without a pause that a call is on its way at every moment: a kill that interrupts none
// does not count.
constexpr int kParallel = 32;
constexpr char kNoPause[] = "0ms";
constexpr int kMostSignals = 3 * kReplayKills;
constexpr size_t kReplayedBetweenKills = 150;
constexpr double kLeastReplayedPerSecond = 50;

// Kills the server; true when that counts: a call had been sent and had not ended when the signal
// left, by the client's log, and the killed server did not acknowledge it. Then it failed, or the
// library still repeats it once the server is there again.
bool KillWithACallInFlight(ServerProcess& server, ReplayUnderWay& replay) {
  const std::vector<LoggedCall> in_flight = replay.history().InFlight();
  server.Kill();
  EXPECT_TRUE(server.Start()) << server.Log();
  replay.history().Read();
  const bool counts = std::ranges::any_of(in_flight, [&](const LoggedCall& call) {
    const std::string event = replay.history().EventAfter(call);
    return event.empty() || event == "error";
  });
  EXPECT_TRUE(replay.WaitForTraffic(1)) << replay.Errors();
  return counts;
}

TEST(KillReplay, NothingAcknowledgedIsLost) {
  const TestFolder folder;
  Recordings recordings = FindRecordings();
  recordings.parallel = kParallel;
  recordings.pace = kNoPause;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  ReplayUnderWay replay(folder, server.address(), recordings);

  int kills = 0;
  for (int signals = 0; kills < kReplayKills && signals < kMostSignals; ++signals) {
    const size_t before = replay.history().acknowledged();
    ASSERT_TRUE(replay.WaitForTraffic(kReplayedBetweenKills))
        << "the replay ended after " << kills << " kills: " << replay.Sum() << replay.Errors();
    // A kill behind a stalled disk does not count either: too little was acknowledged before it.
    const bool busy = replay.history().AcknowledgedPerSecond(before) >= kLeastReplayedPerSecond;
    const bool in_flight = KillWithACallInFlight(server, replay);
    if (busy && in_flight) ++kills;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(kills, kReplayKills);
  EXPECT_EQ(replay.Wait(), 0) << replay.Errors();
  EXPECT_THAT(replay.Sum(), HasSubstr(" 0 differences, "));

  // Only what is on the disk now counts: another server, another client.
  EXPECT_EQ(server.Stop().exit_code, 0) << server.Log();
  ASSERT_TRUE(server.Start()) << server.Log();
  std::string sum;
  EXPECT_EQ(VerifyReplay(folder, server.address(), recordings, sum), 0);
  EXPECT_THAT(sum, HasSubstr(" 0 differences, "));
  std::cout << "replay: " << replay.Sum() << "\nverify: " << sum << "\nfigure: " << kills
            << " kills\n";
}

}  // namespace
}  // namespace holdfast::testing
