// A restart that is asked for (SIGTERM) costs its clients nothing: no lease, no session, no call
// that the documented retry does not mend.
#include "tests/recovery/replay_under_way.h"
#include "tests/support/postgres.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <array>
#include <map>
#include <set>

namespace holdfast::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kRestarts = 20;
constexpr int kRestartsOfTwo = 8;
constexpr size_t kCallsBetweenRestarts = 100;

// How often each session's lease was granted, by the client's log: once, when it was created.
std::map<std::string, int> GrantsOf(const TestFolder& folder) {
  std::map<std::string, int> grants;
  std::istringstream log(ReadText(folder.File("calls.log")));
  for (std::string line; std::getline(log, line);) {
    const auto object = nlohmann::json::parse(line);
    const bool grants_lease =
        object["call"] == "CreateSession" || object["call"] == "ResumeSession";
    if (grants_lease && object["event"] == "ack") ++grants[object["session"]];
  }
  return grants;
}

uint64_t EpochOf(const TestFolder& folder, const std::string& address, const std::string& session) {
  const std::string out = folder.File("show." + session);
  const Ending ending = RunToEnd(
      {Program("holdfast"), "--address", address, "--output", "json", "session", "show", session},
      out, folder.File("show.err"));
  EXPECT_EQ(ending.exit_code, 0) << ReadText(out);
  return std::stoull(nlohmann::json::parse(ReadText(out))["lease"]["epoch"].get<std::string>());
}

TEST(RollingRestart, FailsNoCallWhenClientsRetry) {
  const TestFolder folder;
  const Recordings recordings = FindRecordings();
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  ReplayUnderWay replay(folder, server.address(), recordings);

  std::set<std::string> under_way;  // sessions that had a call in flight when a restart began
  for (int restart = 0; restart < kRestarts; ++restart) {
    ASSERT_TRUE(replay.WaitForTraffic(kCallsBetweenRestarts))
        << "the replay ended after " << restart << " restarts: " << replay.Sum() << replay.Errors();
    for (const LoggedCall& call : replay.history().InFlight()) under_way.insert(call.session);
    const Ending ending = server.StopUnderLoad();
    EXPECT_EQ(ending.exit_code, 0) << "signal " << ending.signal << "\n" << server.Log();
    ASSERT_TRUE(server.Start()) << server.Log();
  }
  EXPECT_EQ(replay.Wait(), 0) << replay.Errors();
  EXPECT_THAT(replay.Sum(), HasSubstr(" 0 differences, "));

  for (const auto& [session, grants] : GrantsOf(folder)) {
    EXPECT_EQ(grants, 1) << session << " had to be taken up again";
  }
  for (const std::string& session : under_way) {
    EXPECT_EQ(EpochOf(folder, server.address(), session), 1) << session;
  }
  std::string sum;
  EXPECT_EQ(VerifyReplay(folder, server.address(), recordings, sum), 0) << sum;
  EXPECT_EQ(server.StopUnderLoad().exit_code, 0);
}

// Two servers of one database, and clients with the addresses of both: when one stops, they go on
// at the other one.
TEST(RollingRestart, FailsNoCallWithTwoServersOfOneDatabase) {
  const Recordings recordings = FindRecordings();
  const TestDatabase database(Contents::kStore);
  const std::array<TestFolder, 2> folders;
  std::array<ServerProcess, 2> servers = {ServerProcess(folders[0], {.dsn = database.dsn()}),
                                          ServerProcess(folders[1], {.dsn = database.dsn()})};
  for (ServerProcess& server : servers) ASSERT_TRUE(server.Start()) << server.Log();
  const std::string both = absl::StrCat("ipv4:", servers[0].address(), ",", servers[1].address());
  ReplayUnderWay replay(folders[0], both, recordings);
  for (int restart = 0; restart < kRestartsOfTwo; ++restart) {
    ASSERT_TRUE(replay.WaitForTraffic(kCallsBetweenRestarts))
        << "the replay ended after " << restart << " restarts: " << replay.Sum() << replay.Errors();
    ServerProcess& server = servers[restart % 2];
    const Ending ending = server.StopUnderLoad();
    EXPECT_EQ(ending.exit_code, 0) << "signal " << ending.signal << "\n" << server.Log();
    ASSERT_TRUE(replay.WaitForTraffic(kCallsBetweenRestarts / 10))
        << "no client went on at the other server: " << replay.Errors();
    ASSERT_TRUE(server.Start()) << server.Log();
  }
  EXPECT_EQ(replay.Wait(), 0) << replay.Errors();
  EXPECT_THAT(replay.Sum(), HasSubstr(" 0 differences, "));
  for (const auto& [session, grants] : GrantsOf(folders[0])) {
    EXPECT_EQ(grants, 1) << session << " had to be taken up again";
  }
  for (ServerProcess& server : servers) {
    std::string sum;
    EXPECT_EQ(VerifyReplay(folders[0], server.address(), recordings, sum), 0) << sum;
  }
}

}  // namespace
}  // namespace holdfast::testing
