// Connections that nobody uses: however many there are, the server goes on, its other clients
// notice nothing, and a new one is served.
#include "tests/support/channel.h"
#include "tests/support/committers.h"
#include "tests/support/raw_socket.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr char kAttacker[] = "127.0.0.2";
constexpr size_t kIdle = 3000;
constexpr size_t kCommitters = 8;
constexpr int kRounds = 10;
constexpr absl::Duration kSoon = absl::Seconds(1);
constexpr absl::Duration kOnABusyMachine = absl::Seconds(10);

size_t DescriptorsOf(const ServerProcess& server) {
  const std::filesystem::directory_iterator all(absl::StrCat("/proc/", server.pid(), "/fd"));
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// How long a client that was not there before takes to be answered.
absl::Duration NewClientTakes(const ServerProcess& server) {
  const absl::Time begun = absl::Now();
  WireClient client(server.address());
  EXPECT_EQ(client.Get("committer.0").session_id(), "committer.0");
  return absl::Now() - begun;
}

TEST(IdleConnections, CostOtherClientsNothingWhenThereAreMoreThanTheServerTakes) {
  const TestFolder folder;
  ServerProcess server(folder, {.server = ", connections: 1000", .descriptors = 2048});
  ASSERT_TRUE(server.Start()) << server.Log();
  Committers committers(server.address(), kCommitters);
  std::vector<absl::Duration> took;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<RawSocket> idle = OpenIdle(server.address(), kAttacker, kIdle);
    EXPECT_GT(idle.size(), kIdle / 2);
    ASSERT_TRUE(committers.AwaitCommits(kCommitters)) << server.Log();
    took.push_back(NewClientTakes(server));
    ASSERT_TRUE(server.Running()) << server.Log();
  }
  const std::vector<std::string> failed = committers.Stop();
  EXPECT_TRUE(failed.empty()) << failed.size() << " failed, the first: " << failed.front();
  std::sort(took.begin(), took.end());
  EXPECT_LT(took[took.size() / 2], kSoon);
  EXPECT_LT(took.back(), kOnABusyMachine);
  EXPECT_TRUE(server.AwaitLog("new connections are closed at once"));
  EXPECT_EQ(server.StopAtRest().exit_code, 0);
}

// accept(2) itself fails for lack of descriptors, and is tried again.
TEST(IdleConnections, AreSurvivedWhenNoDescriptorIsLeft) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient before(server.address());
  before.Must(&WireClient::Stub::CreateSession, test::CreateRequest("committer.0"));
  const size_t open = DescriptorsOf(server);
  {
    const rlimit low{.rlim_cur = open + 40, .rlim_max = open + 40};
    ASSERT_EQ(prlimit(server.pid(), RLIMIT_NOFILE, &low, nullptr), 0);
    const std::vector<RawSocket> idle = OpenIdle(server.address(), kAttacker, 150);
    ASSERT_TRUE(WaitUntil([&] { return DescriptorsOf(server) >= open + 40; })) << server.Log();
    EXPECT_EQ(before.Get("committer.0").session_id(), "committer.0");
  }
  EXPECT_LT(NewClientTakes(server), kOnABusyMachine);
  EXPECT_TRUE(server.AwaitLog("no connection can be accepted"));
  EXPECT_EQ(server.StopAtRest().exit_code, 0) << server.Log();
}

TEST(IdleConnections, AreClosedWhenNoSettingsCome) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  RawSocket silent(server.address(), kAttacker);
  ASSERT_TRUE(silent.connected());
  EXPECT_TRUE(silent.AwaitEnd(absl::Seconds(60)));
}

// The client's own library goes idle when the server has said that it closes.
TEST(IdleConnections, AreClosedWhenTheyHaveNoCallForTheConfiguredTime) {
  const TestFolder folder;
  ServerProcess server(folder, {.server = ", connection_idle: 1s"});
  ASSERT_TRUE(server.Start()) << server.Log();
  const size_t before = DescriptorsOf(server);
  const auto channel = Connected(server.address());
  ASSERT_EQ(channel->GetState(false), GRPC_CHANNEL_READY);
  EXPECT_TRUE(WaitUntil([&] { return channel->GetState(false) != GRPC_CHANNEL_READY; }));
  EXPECT_TRUE(WaitUntil([&] { return DescriptorsOf(server) <= before; })) << "it is still open";
}

TEST(IdleConnections, OfTheConfiguredAgeAreClosedAndNoCallFails) {
  const TestFolder folder;
  ServerProcess server(folder, {.server = ", connection_max_age: 1s"});
  ASSERT_TRUE(server.Start()) << server.Log();
  const auto channel = Connected(server.address());
  const auto stub = pb::SessionService::NewStub(channel);
  ASSERT_EQ(channel->GetState(false), GRPC_CHANNEL_READY);
  EXPECT_TRUE(WaitUntil([&] {
    if (channel->GetState(false) != GRPC_CHANNEL_READY) return true;
    grpc::ClientContext context;
    pb::ListSessionsResponse response;
    const grpc::Status status = stub->ListSessions(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return false;
  }));
}

}  // namespace
}  // namespace holdfast::testing
