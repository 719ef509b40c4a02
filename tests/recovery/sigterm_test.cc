// Servers that are asked to stop (SIGTERM) and started again, one after the other, under clients
// that repeat calls as the documented service config says: no call fails. A client that repeats
// nothing gets a reason for each call that failed.
#include "cli/service_config.h"
#include "session/reasons.h"
#include "tests/support/committers.h"
#include "tests/support/details.h"
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr size_t kDrainedClients = 32;
constexpr absl::Duration kBetweenSignals = absl::Seconds(1);
constexpr absl::Duration kShort = absl::Seconds(10);
constexpr absl::Duration kLong = absl::Minutes(5);
// A stop lasts half a second by itself, and a start has its time too.
constexpr size_t kRestartsInLong = 150;

// As docs/api.md says, and nothing else.
std::shared_ptr<grpc::Channel> ChannelOfAClient(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(cli::ServiceConfigJson());
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // as clients of several processes
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// A client that repeats nothing: what was not served has a reason, or was never sent.
class StrictClient final {
 public:
  StrictClient(const std::string& first, const std::string& target)
      : channel_(WithoutRetries(target)), stub_(channel_) {
    token_ = WireClient(first)
                 .Must(&WireClient::Stub::CreateSession, test::CreateRequest(kStrictSession))
                 .lease_token();
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  void Stop() {
    thread_.request_stop();
    thread_.join();
    EXPECT_GT(served_, 0U);
    EXPECT_TRUE(unexplained_.empty())
        << unexplained_.size() << " calls had no reason, the first: " << unexplained_.front();
    std::cout << "without retries: " << served_ << " calls served, " << explained_
              << " refused with a reason, " << unsent_ << " not sent\n";
  }

 private:
  static constexpr char kStrictSession[] = "strict";

  static std::shared_ptr<grpc::Channel> WithoutRetries(const std::string& target) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  }

  // One read and one write after the other.
  void Run(const std::stop_token& stop) {
    pb::GetSessionRequest get;
    get.set_session_id(kStrictSession);
    while (!stop.stop_requested()) {
      channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(1));
      grpc::ClientContext reading;
      pb::GetSessionResponse session;
      CheckStatus(stub_.GetSession(&reading, get, &session));
      grpc::ClientContext writing;
      pb::RenewLeasesResponse renewed;
      CheckStatus(
          stub_.RenewLeases(&writing, test::RenewLeaseRequest(kStrictSession, token_), &renewed));
    }
  }

  void CheckStatus(const grpc::Status& status) {
    const Verdict verdict = VerdictOf(status);
    const auto is_reason = [&](const ReasonRow& row) { return row.name == verdict.reason; };
    if (status.ok()) {
      ++served_;
    } else if (std::ranges::any_of(kReasonRows, is_reason)) {
      ++explained_;
      // The next call is another one, and still not sent to a server that has asked for a pause.
      const absl::Time next = absl::Now() + verdict.retry_after.value_or(absl::ZeroDuration());
      WaitUntil([&] { return absl::Now() >= next; });
    } else if (WasNotSent(status)) {
      ++unsent_;
    } else {
      unexplained_.push_back(test::Describe(status));
    }
  }

  // The library has no better word for a call that found no connection, or one that had just been
  // closed. EPIPE ("Broken pipe") says that the connection had been closed before the call was
  // written, all of which is one write: no byte of it has left.
  static bool WasNotSent(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
           (absl::StartsWith(status.error_message(), "Transport closed") ||
            status.error_message() == "Broken pipe" ||
            absl::StrContains(status.error_message(), "failed to connect to all addresses") ||
            absl::StrContains(status.error_message(), "connections to all backends failing"));
  }

  const std::shared_ptr<grpc::Channel> channel_;
  WireClient::Stub stub_;
  std::string token_;
  // The thread's own until it has ended.
  size_t served_ = 0;
  size_t explained_ = 0;
  size_t unsent_ = 0;
  std::vector<std::string> unexplained_;
  std::jthread thread_;
};

class Sigterm : public ::testing::TestWithParam<StoreKind> {
 protected:
  // Restarts `count` servers of one store, one after the other, for so long, a second from one stop
  // to the next; at least `restarts_least` times.
  void Restart(size_t count, absl::Duration most, size_t restarts_least) {
    for (size_t i = 0; i < count; ++i) ASSERT_NO_FATAL_FAILURE(AddServer());
    std::vector<std::string> addresses;
    for (const auto& server : servers_) addresses.push_back(server->address());
    const std::string target = absl::StrCat("ipv4:", absl::StrJoin(addresses, ","));
    Committers clients([&] { return ChannelOfAClient(target); }, kDrainedClients);
    ASSERT_TRUE(clients.AwaitCommits(kDrainedClients));
    StrictClient strict(addresses.front(), target);
    const absl::Time end = absl::Now() + most;
    size_t restarts = 0;
    for (absl::Time next = absl::Now(); absl::Now() < end; next += kBetweenSignals, ++restarts) {
      ServerProcess& server = *servers_[restarts % servers_.size()];
      const Ending ending = server.StopUnderLoad();
      EXPECT_EQ(ending.exit_code, 0) << "signal " << ending.signal << "\n" << server.Log();
      ASSERT_TRUE(server.Start()) << server.Log();
      ASSERT_TRUE(clients.AwaitCommits(kDrainedClients)) << "the clients do not go on";
      WaitUntil([&] { return absl::Now() >= next + kBetweenSignals; });
    }
    strict.Stop();
    const std::vector<std::string> failed = clients.Stop();
    EXPECT_TRUE(failed.empty()) << failed.size() << " calls failed in " << restarts
                                << " restarts, the first:\n"
                                << failed.front();
    EXPECT_EQ(clients.refused(), 0U) << "calls were OVERLOADED";
    EXPECT_GE(restarts, restarts_least);
    std::cout << "figure: " << restarts << " restarts, " << clients.commits() << " commits, "
              << failed.size() << " failed calls\n";
    servers_.clear();
  }

 private:
  void AddServer() {
    folders_.push_back(std::make_unique<TestFolder>());
    servers_.push_back(std::make_unique<ServerProcess>(*folders_.back(), store_.Settings()));
    ASSERT_TRUE(servers_.back()->Start()) << servers_.back()->Log();
  }

  StoreUnderServer store_{GetParam()};
  std::vector<std::unique_ptr<TestFolder>> folders_;
  std::vector<std::unique_ptr<ServerProcess>> servers_;
};
using LongSigterm = Sigterm;
using SigtermOfServers = Sigterm;
using LongSigtermOfServers = Sigterm;

TEST_P(Sigterm, OfOneServerFailsNoCall) { Restart(1, kShort, 1); }
TEST_P(LongSigterm, OfOneServerFailsNoCall) { Restart(1, kLong, kRestartsInLong); }
INSTANTIATE_TEST_SUITE_P(Stores, Sigterm, EachStore(), NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, LongSigterm, EachStore(), NameOfStore);

// Of files there is one server.
const auto kSharedStore = ::testing::Values(StoreKind::kPostgres);
TEST_P(SigtermOfServers, EachOfThreeFailsNoCall) { Restart(3, kShort, 1); }
TEST_P(LongSigtermOfServers, EachOfThreeFailsNoCall) { Restart(3, kLong, kRestartsInLong); }
INSTANTIATE_TEST_SUITE_P(Stores, SigtermOfServers, kSharedStore, NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, LongSigtermOfServers, kSharedStore, NameOfStore);

}  // namespace
}  // namespace holdfast::testing
