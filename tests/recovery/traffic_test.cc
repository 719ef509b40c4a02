// Many clients at once, leases that move between them, and a server that is killed under them again
// and again: one correct store could have given all the answers.
#include "tests/history/traffic.h"

#include "tests/history/checker.h"
#include "tests/history/kills.h"
#include "tests/history/record_file.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using history::Complaints;
using history::History;
using history::HistoryNow;
using history::Kill;
using history::Traffic;

constexpr size_t kOrdinaryKills = 10;
constexpr size_t kLongKills = 300;
constexpr size_t kSignalsPerKill = 3;  // at most: not each signal is a kill that counts
constexpr uint64_t kCallsBetweenKills = 200;
constexpr double kLeastCallsPerSecond = 50;
constexpr size_t kComplaintsShown = 20;

// Waits until `calls` more mutations have been acknowledged and one is in flight.
bool WaitForTraffic(const Traffic& traffic, uint64_t calls) {
  const uint64_t enough = traffic.acknowledged() + calls;
  return WaitUntil([&] { return traffic.acknowledged() >= enough && traffic.in_flight() > 0; });
}

size_t CountMet(const History& history, const std::vector<Kill>& kills) {
  return static_cast<size_t>(
      std::ranges::count_if(kills, [&](const Kill& kill) { return MetAMutation(history, kill); }));
}

// Kills the server under traffic. Returns the kill, or nothing when fewer than kLeastCallsPerSecond
// were acknowledged before it: that one does not count.
std::optional<Kill> KillOnce(const Traffic& traffic, ServerProcess& server) {
  const int64_t since = HistoryNow();
  EXPECT_TRUE(WaitForTraffic(traffic, kCallsBetweenKills)) << server.Log();
  const Kill kill = {.at = HistoryNow()};
  server.Kill();
  EXPECT_TRUE(server.Start()) << server.Log();
  const double seconds = static_cast<double>(kill.at - since) / 1e9;
  if (static_cast<double>(kCallsBetweenKills) / seconds < kLeastCallsPerSecond) return std::nullopt;
  return kill;
}

void KillUnderTraffic(size_t kills) {
  const TestFolder folder;
  const std::string file = folder.File("history");
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  Traffic traffic({.addresses = {server.address()}, .file = file});
  traffic.Start();
  std::vector<Kill> killed;
  const auto enough = [&] {
    if (killed.size() < kills) return false;
    const absl::StatusOr<History> so_far = history::ReadRecord(file);
    return so_far.ok() && CountMet(*so_far, killed) >= kills;
  };
  for (size_t signals = 0; signals < kSignalsPerKill * kills && !enough(); ++signals) {
    const std::optional<Kill> kill = KillOnce(traffic, server);
    ASSERT_FALSE(::testing::Test::HasFailure());
    if (kill.has_value()) killed.push_back(*kill);
  }
  ASSERT_TRUE(WaitForTraffic(traffic, kCallsBetweenKills)) << server.Log();
  traffic.Stop();

  // Only what is on the disk now counts: another server, another client.
  EXPECT_EQ(server.Stop().exit_code, 0) << server.Log();
  ASSERT_TRUE(server.Start()) << server.Log();
  const absl::StatusOr<History> history = traffic.Finish();
  ASSERT_TRUE(history.ok()) << history.status() << "\n" << server.Log();
  std::cout << Summary(*history);
  const Complaints complaints = Check(*history);
  EXPECT_TRUE(complaints.empty()) << ToText(complaints, kComplaintsShown);
  const size_t met = CountMet(*history, killed);
  EXPECT_GE(met, kills);
  EXPECT_GE(Unanswered(*history), kills) << "too few kills interrupted a mutation";
  std::cout << "figure: " << met << " kills\n";
  EXPECT_EQ(server.Stop().exit_code, 0) << server.Log();
}

TEST(Traffic, IsServedAsByOneStoreWhileTheServerIsKilled) { KillUnderTraffic(kOrdinaryKills); }
TEST(LongTraffic, IsServedAsByOneStoreWhileTheServerIsKilled) { KillUnderTraffic(kLongKills); }

}  // namespace
}  // namespace holdfast::testing
