// Connections without calls: however many there are, the server goes on, its other clients are not
// affected, and a new one is served.
#include "holdfast/v1/admin_service.grpc.pb.h"
#include "session/limits.h"
#include "tests/support/channel.h"
#include "tests/support/committers.h"
#include "tests/support/each_store.h"
#include "tests/support/latencies.h"
#include "tests/support/raw_socket.h"
#include "tests/support/requests.h"
#include "tests/support/reserved_port.h"
#include "tests/support/scrape.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr char kAttacker[] = "127.0.0.2";
constexpr size_t kIdleConnections = 3000;
// New connections of one address that are all accepted: below the burst of the rate limit.
constexpr size_t kPerSource = 150;
constexpr size_t kConnections = 1000;
constexpr int kDescriptors = 2048;
constexpr size_t kCommitters = 8;
constexpr char kLookedAt[] = "looked-at";
constexpr int kRounds = 10;
constexpr int kCalmClients = 5;
constexpr absl::Duration kSoon = absl::Seconds(1);

// From as many addresses (127.0.1.1 and on) that the rate of one peer refuses none.
std::vector<RawSocket> OpenIdleFromMany(const std::string& address) {
  std::vector<RawSocket> all;
  for (size_t source = 1; all.size() < kIdleConnections; ++source) {
    const size_t count = std::min(kPerSource, kIdleConnections - all.size());
    auto more = OpenIdle(address, absl::StrCat("127.0.1.", source), count);
    if (more.size() < count) break;
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

size_t DescriptorsOf(const ServerProcess& server) {
  const std::filesystem::directory_iterator all(absl::StrCat("/proc/", server.pid(), "/fd"));
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// Whether the log says that connections were closed at once for this limit, and for no other.
bool SaysLimit(const ServerProcess& server, const std::string& limit) {
  size_t lines = 0;
  size_t of_limit = 0;
  const std::string log = server.Log();
  for (const auto line : absl::StrSplit(log, '\n')) {
    const std::string text(line);
    if (!absl::StrContains(text, "new connections are closed at once")) continue;
    ++lines;
    if (absl::StrContains(text, absl::StrCat("\"limit\":\"", limit, "\""))) ++of_limit;
  }
  return lines > 0 && lines == of_limit;
}

// Thousands of descriptors are this process's too.
void TakeDescriptors() {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_GT(limit.rlim_max, 2 * kIdleConnections) << "the hard limit of descriptors is too low";
}

class IdleConnections : public ::testing::TestWithParam<StoreKind> {
 protected:
  // A server with clients that commit, and what new clients take while nothing else goes on.
  void Start(const ServerSettings& settings) {
    ASSERT_NO_FATAL_FAILURE(TakeDescriptors());
    server_ = std::make_unique<ServerProcess>(folder_, store_.Settings(settings));
    ASSERT_TRUE(server_->Start()) << server_->Log();
    admin_ = pb::AdminService::NewStub(Connected(server_->address()));
    WireClient(server_->address())
        .Must(&WireClient::Stub::CreateSession, test::CreateRequest(kLookedAt));
    committers_ = std::make_unique<Committers>(server_->address(), kCommitters);
    ASSERT_TRUE(committers_->AwaitCommits(10 * kCommitters)) << server_->Log();
    Latencies calm;
    for (int i = 0; i < kCalmClients; ++i) calm.push_back(NewClientTakes());
    most_ = std::max(kSoon, 10 * Percentile(calm, 50));
  }

  // How long a client that was not there before takes to be answered.
  absl::Duration NewClientTakes() {
    const absl::Time begun = absl::Now();
    WireClient client(server_->address());
    EXPECT_EQ(client.Get(kLookedAt).session_id(), kLookedAt);
    return absl::Now() - begun;
  }

  // Every client goes on, and so does the server.
  void ExpectCommits() {
    ASSERT_TRUE(committers_->AwaitCommits(kCommitters)) << server_->Log();
    ASSERT_TRUE(server_->Running()) << server_->Log();
  }

  void ExpectNewClientSoon() {
    const absl::Duration took = NewClientTakes();
    EXPECT_LT(took, most_) << "until a new client was answered";
    slowest_ = std::max(slowest_, took);
  }

  // Beside the call that asks for it, which is on a connection of its own.
  uint32_t ConnectionsNow() {
    grpc::ClientContext context;
    pb::StatusResponse status;
    EXPECT_EQ(VerdictOf(admin_->Status(&context, {}, &status)).reason, "OK");
    return status.resources().connections();
  }

  // The end of each test: no call of the clients failed, nor was it refused.
  void ExpectNothingFailed() {
    const std::vector<std::string> failed = committers_->Stop();
    EXPECT_TRUE(failed.empty()) << failed.size() << " failed, the first: " << failed.front();
    EXPECT_EQ(committers_->refused(), 0U) << "calls were OVERLOADED";
    std::cout << "slowest new client " << slowest_ << " of at most " << most_ << ", "
              << committers_->commits() << " commits\n";
    EXPECT_EQ(server_->Stop().exit_code, 0) << server_->Log();
  }

  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<pb::AdminService::Stub> admin_;
  std::unique_ptr<Committers> committers_;
  absl::Duration most_;
  absl::Duration slowest_;
};

const std::string kLimited = absl::StrCat(", connections: ", kConnections);

TEST_P(IdleConnections, OfOnePeerCostOtherClientsNothing) {
  ASSERT_NO_FATAL_FAILURE(Start({.server = kLimited, .descriptors = kDescriptors}));
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<RawSocket> idle = OpenIdle(server_->address(), kAttacker, kIdleConnections);
    ASSERT_EQ(idle.size(), kIdleConnections) << "not even the kernel took them";
    ASSERT_NO_FATAL_FAILURE(ExpectCommits());
    ExpectNewClientSoon();
    EXPECT_LE(ConnectionsNow(), kConnections);
  }
  EXPECT_TRUE(server_->AwaitLog("new connections are closed at once"));
  EXPECT_TRUE(SaysLimit(*server_, "new connections of one peer in a second"));
  ExpectNothingFailed();
}

// Where no peer is over a limit of its own, the server's is reached: connected clients go on,
// and the next client is served once others have gone.
TEST_P(IdleConnections, OfManyPeersAreTakenUpToTheLimitOfTheServer) {
  ASSERT_NO_FATAL_FAILURE(Start({.server = kLimited, .descriptors = kDescriptors}));
  {
    const std::vector<RawSocket> idle = OpenIdleFromMany(server_->address());
    ASSERT_EQ(idle.size(), kIdleConnections) << "not even the kernel took them";
    EXPECT_TRUE(WaitUntil([&] { return ConnectionsNow() == kConnections; })) << ConnectionsNow();
    EXPECT_TRUE(server_->AwaitLog("new connections are closed at once"));
    EXPECT_TRUE(SaysLimit(*server_, "server.connections")) << server_->Log();
    ASSERT_NO_FATAL_FAILURE(ExpectCommits());
    EXPECT_EQ(ConnectionsNow(), kConnections) << "more, or fewer, than the server may take";
  }
  ExpectNewClientSoon();
  ExpectNothingFailed();
}

// accept(2) itself fails for lack of descriptors, and is tried again.
TEST_P(IdleConnections, AreSurvivedWhenNoDescriptorIsLeft) {
  const ReservedPort metrics;
  ASSERT_NO_FATAL_FAILURE(
      Start({.server = ", connections: 4000, connections_per_peer: 4000",
             .more = absl::StrCat("telemetry: {metrics_address: \"", metrics.address(), "\"}\n")}));
  const rlimit low{.rlim_cur = kDescriptors, .rlim_max = kDescriptors};
  ASSERT_EQ(prlimit(server_->pid(), RLIMIT_NOFILE, &low, nullptr), 0);
  {
    const std::vector<RawSocket> idle = OpenIdleFromMany(server_->address());
    ASSERT_EQ(idle.size(), kIdleConnections) << "not even the kernel took them";
    EXPECT_TRUE(server_->AwaitLog("no connection can be accepted")) << server_->Log();
    EXPECT_TRUE(WaitUntil([&] { return DescriptorsOf(*server_) >= kDescriptors; }))
        << DescriptorsOf(*server_);
    ASSERT_NO_FATAL_FAILURE(ExpectCommits());
  }
  ExpectNewClientSoon();
  WireClient(server_->address())
      .Must(&WireClient::Stub::CreateSession, test::CreateRequest("created.afterwards"));
  EXPECT_GT(Scrape(metrics.address())["holdfast_accept_pauses_total"], 0);
  ExpectNothingFailed();
}

// All clients of a socket file are one peer.
TEST_P(IdleConnections, OfASocketFileAreTakenUpToTheLimitOfOnePeer) {
  constexpr uint32_t kMost = 64;
  constexpr size_t kFlood = 100;  // fewer than the rate of new connections would refuse
  ASSERT_NO_FATAL_FAILURE(Start({.address = "unix:" + folder_.File("socket"),
                                 .server = absl::StrCat(", connections_per_peer: ", kMost)}));
  {
    const std::vector<RawSocket> idle = OpenIdle(server_->address(), "", kFlood);
    ASSERT_EQ(idle.size(), kFlood) << "not even the kernel took them";
    EXPECT_TRUE(WaitUntil([&] { return ConnectionsNow() == kMost; })) << ConnectionsNow();
    EXPECT_TRUE(server_->AwaitLog("new connections are closed at once"));
    EXPECT_TRUE(SaysLimit(*server_, "server.connections_per_peer")) << server_->Log();
    ASSERT_NO_FATAL_FAILURE(ExpectCommits());
  }
  ExpectNewClientSoon();
  ExpectNothingFailed();
}

INSTANTIATE_TEST_SUITE_P(Stores, IdleConnections, EachStore(), NameOfStore);

TEST(SilentConnection, IsClosedWhenNoSettingsCome) {
  const TestFolder folder;
  ServerProcess server(folder);
  ASSERT_TRUE(server.Start()) << server.Log();
  RawSocket silent(server.address(), kAttacker);
  ASSERT_TRUE(silent.connected());
  EXPECT_TRUE(silent.AwaitEnd(3 * kHandshakeTimeout));
}

// The client's own library goes idle when the server has said that it closes.
TEST(IdleConnections, AreClosedWhenTheyHaveNoCallForTheConfiguredTime) {
  const TestFolder folder;
  ServerProcess server(folder, {.server = ", connection_idle: 1s"});
  ASSERT_TRUE(server.Start()) << server.Log();
  const size_t before = DescriptorsOf(server);
  const auto channel = Connected(server.address());
  ASSERT_EQ(channel->GetState(false), GRPC_CHANNEL_READY);
  ASSERT_TRUE(WaitUntil([&] { return channel->GetState(false) != GRPC_CHANNEL_READY; }));
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
