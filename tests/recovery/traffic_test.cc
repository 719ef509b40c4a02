// Many clients at once, leases that move between them, and a server that is killed under them again
// and again: everything that anybody was told is what one correct store can have said.
#include "tests/history/traffic.h"

#include "tests/history/checker.h"
#include "tests/history/kills.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using history::Complaints;
using history::History;
using history::HistoryNow;
using history::Kill;
using history::Traffic;

constexpr size_t kKills = 10;
constexpr size_t kLongKills = 300;
constexpr size_t kSpareOf = 5;  // one kill more for so many: now and then one meets no call
constexpr uint64_t kCallsBetweenKills = 200;
constexpr double kLeastCallsPerSecond = 50;
constexpr size_t kComplaintsShown = 20;

// Waits until `calls` more mutations have been acknowledged and one is in flight.
bool WaitForTraffic(const Traffic& traffic, uint64_t calls) {
  const uint64_t enough = traffic.acknowledged() + calls;
  return WaitUntil([&] { return traffic.acknowledged() >= enough && traffic.in_flight() > 0; });
}

void KillUnderTraffic(size_t kills) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  Traffic traffic({.addresses = {server.address()}, .file = folder.File("history")});
  traffic.Start();
  std::vector<Kill> killed;
  while (killed.size() < kills + kills / kSpareOf) {
    const int64_t since = HistoryNow();
    ASSERT_TRUE(WaitForTraffic(traffic, kCallsBetweenKills)) << server.Log();
    const double seconds = static_cast<double>(HistoryNow() - since) / 1e9;
    EXPECT_GE(static_cast<double>(kCallsBetweenKills) / seconds, kLeastCallsPerSecond);
    killed.push_back({.at = HistoryNow()});
    server.Kill();
    ASSERT_TRUE(server.Start()) << server.Log();
  }
  ASSERT_TRUE(WaitForTraffic(traffic, kCallsBetweenKills)) << server.Log();
  traffic.Stop();

  // Only what is on the disk now counts: another server, another client.
  EXPECT_EQ(server.StopAtRest().exit_code, 0) << server.Log();
  ASSERT_TRUE(server.Start()) << server.Log();
  const absl::StatusOr<History> history = traffic.Finish();
  ASSERT_TRUE(history.ok()) << history.status() << "\n" << server.Log();
  std::cout << Summary(*history);
  const Complaints complaints = Check(*history);
  EXPECT_TRUE(complaints.empty()) << ToText(complaints, kComplaintsShown);
  const auto in_flight = static_cast<size_t>(std::ranges::count_if(
      killed, [&](const Kill& kill) { return MetAMutation(*history, kill); }));
  EXPECT_GE(in_flight, kills);
  EXPECT_GE(Unanswered(*history), kills) << "too few kills hurt anybody";
  std::cout << "figure: " << in_flight << " kills\n";
  EXPECT_EQ(server.StopAtRest().exit_code, 0) << server.Log();
}

TEST(Traffic, IsServedAsByOneStoreWhileTheServerIsKilled) { KillUnderTraffic(kKills); }
TEST(LongTraffic, IsServedAsByOneStoreWhileTheServerIsKilled) { KillUnderTraffic(kLongKills); }

}  // namespace
}  // namespace holdfast::testing
