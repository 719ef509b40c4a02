// Servers that are asked to stop (SIGTERM) and started again, one after the other, under clients
// that repeat calls as the documented service config says: no call fails.
#include "cli/service_config.h"
#include "tests/support/committers.h"
#include "tests/support/postgres.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr size_t kClients = 32;
constexpr absl::Duration kBetween = absl::Seconds(1);
constexpr absl::Duration kShort = absl::Seconds(10);
constexpr absl::Duration kLong = absl::Minutes(5);

// As docs/api.md says, and nothing else.
std::shared_ptr<grpc::Channel> ChannelOfAClient(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(cli::ServiceConfigJson());
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // as clients of several processes
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

class Sigterm : public ::testing::Test {
 protected:
  void Add(const ServerSettings& settings) {
    folders_.push_back(std::make_unique<TestFolder>());
    servers_.push_back(std::make_unique<ServerProcess>(*folders_.back(), settings));
    ASSERT_TRUE(servers_.back()->Start()) << servers_.back()->Log();
  }

  // Restarts one server after the other for so long, a second from one stop to the next.
  void RestartFor(absl::Duration most) {
    std::vector<std::string> addresses;
    for (const auto& server : servers_) addresses.push_back(server->address());
    const std::string target = absl::StrCat("ipv4:", absl::StrJoin(addresses, ","));
    Committers clients([&] { return ChannelOfAClient(target); }, kClients);
    ASSERT_TRUE(clients.AwaitCommits(kClients));
    const absl::Time end = absl::Now() + most;
    size_t restarts = 0;
    for (absl::Time next = absl::Now(); absl::Now() < end; next += kBetween, ++restarts) {
      ServerProcess& server = *servers_[restarts % servers_.size()];
      const Ending ending = server.Stop();
      EXPECT_EQ(ending.exit_code, 0) << "signal " << ending.signal << "\n" << server.Log();
      ASSERT_TRUE(server.Start()) << server.Log();
      ASSERT_TRUE(clients.AwaitCommits(kClients)) << "the clients do not go on";
      WaitUntil([&] { return absl::Now() >= next + kBetween; });
    }
    const std::vector<std::string> failed = clients.Stop();
    EXPECT_TRUE(failed.empty()) << failed.size() << " calls failed in " << restarts
                                << " restarts, the first:\n"
                                << failed.front();
    std::cout << "figure: " << restarts << " restarts, " << clients.commits() << " commits, "
              << failed.size() << " failed calls\n";
  }

  void RestartOne(absl::Duration most) {
    ASSERT_NO_FATAL_FAILURE(Add({}));
    RestartFor(most);
  }

  void RestartThree(absl::Duration most) {
    const TestDatabase database(Contents::kStore);
    for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(Add({.dsn = database.dsn()}));
    RestartFor(most);
    servers_.clear();
  }

 private:
  std::vector<std::unique_ptr<TestFolder>> folders_;
  std::vector<std::unique_ptr<ServerProcess>> servers_;
};

TEST_F(Sigterm, OfOneServerFailsNoCall) { RestartOne(kShort); }
TEST_F(Sigterm, OfEachOfThreeServersFailsNoCall) { RestartThree(kShort); }

using LongSigterm = Sigterm;
TEST_F(LongSigterm, OfOneServerForFiveMinutesFailsNoCall) { RestartOne(kLong); }
TEST_F(LongSigterm, OfEachOfThreeServersForFiveMinutesFailsNoCall) { RestartThree(kLong); }

}  // namespace
}  // namespace holdfast::testing
