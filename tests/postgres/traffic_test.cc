// Three servers of one database under mixed traffic, with leases that move between clients, while
// servers, backends and PostgreSQL itself are killed: everything that anybody was told is what one
// correct store can have said.
#include "tests/history/traffic.h"

#include "tests/history/checker.h"
#include "tests/support/postgres.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using history::Complaints;
using history::History;
using history::HistoryNow;
using history::Traffic;

constexpr size_t kServers = 3;
constexpr size_t kKills = 50;
constexpr size_t kLongKills = 1000;
constexpr size_t kSpareOf = 10;  // one kill more for so many: now and then one meets no call
constexpr uint64_t kCallsBetweenKills = 60;
constexpr double kLeastCallsPerSecond = 50;
constexpr size_t kComplaintsShown = 20;
constexpr uint64_t kSeed = 20;

// Those that serve clients of the cluster.
std::vector<pid_t> BackendsOf(const std::string& dsn) {
  constexpr pg::Statement kBackends = {
      "backends",
      "SELECT pid::bigint FROM pg_stat_activity"
      " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"};
  const pg::Answer answer = Connect(dsn)->Run(kBackends, pg::Params());
  std::vector<pid_t> pids;
  const pg::Rows& rows = std::get<pg::Rows>(answer);
  for (size_t row = 0; row < rows.size(); ++row) {
    pids.push_back(static_cast<pid_t>(rows.Int(row, 0)));
  }
  return pids;
}

class PostgresTraffic : public ::testing::Test {
 protected:
  void SetUp() override {
    postgres_.Start();
    ASSERT_TRUE(pg::Migrate(*Connect(postgres_.dsn())).ok());
    for (size_t i = 0; i < kServers; ++i) {
      folders_.push_back(std::make_unique<TestFolder>());
      servers_.push_back(std::make_unique<ServerProcess>(*folders_.back(),
                                                         ServerSettings{.dsn = postgres_.dsn()}));
      ASSERT_TRUE(servers_.back()->Start()) << servers_.back()->Log();
    }
  }

  // Kills until `kills` of them met a mutation in flight, and judges the record.
  void KillUnderTraffic(size_t kills) {
    const TestFolder folder;
    std::vector<std::string> addresses;
    for (const auto& server : servers_) addresses.push_back(server->address());
    Traffic traffic({.addresses = addresses, .file = folder.File("history"), .seed = kSeed});
    traffic.Start();
    double seconds = 0;
    uint64_t rounds = 0;
    while (killed_.size() < kills + kills / kSpareOf) {
      const int64_t since = HistoryNow();
      ASSERT_TRUE(AwaitTraffic(traffic)) << Logs();
      seconds += static_cast<double>(HistoryNow() - since) / 1e9;
      ++rounds;
      KillSomething();
      ASSERT_FALSE(HasFatalFailure());
    }
    ASSERT_TRUE(AwaitTraffic(traffic)) << Logs();
    traffic.Stop();
    EXPECT_GE(static_cast<double>(rounds * kCallsBetweenKills) / seconds, kLeastCallsPerSecond);

    // Only what is in the database now counts: another server, another client.
    for (const auto& server : servers_) {
      server->Kill();
      ASSERT_TRUE(WaitUntil([&] { return server->Start(); })) << server->Log();
    }
    const absl::StatusOr<History> history = traffic.Finish();
    ASSERT_TRUE(history.ok()) << history.status() << "\n" << Logs();
    std::cout << Summary(*history);
    const Complaints complaints = Check(*history);
    EXPECT_TRUE(complaints.empty()) << ToText(complaints, kComplaintsShown);
    const size_t in_flight = KillsInFlight(*history, killed_);
    EXPECT_GE(in_flight, kills);
    std::cout << "figure: " << in_flight << " kills\n";
  }

 private:
  // Until so many more mutations have been acknowledged, and one is in flight. No server may have
  // ended by itself, whatever became of the database.
  bool AwaitTraffic(const Traffic& traffic) {
    const uint64_t enough = traffic.acknowledged() + kCallsBetweenKills;
    const bool went_on =
        WaitUntil([&] { return traffic.acknowledged() >= enough && traffic.in_flight() > 0; });
    for (const auto& server : servers_) {
      EXPECT_TRUE(server->Running()) << "it gave up:\n" << server->Log();
    }
    return went_on;
  }

  // Mostly a server; of every ten, two backends, and once PostgreSQL itself, which is sometimes
  // restarted in order instead. It is up again at the end.
  void KillSomething() {
    const uint64_t choice = random_() % 10;
    if (choice < 7) return KillServer(*servers_[random_() % servers_.size()]);
    if (choice < 9) return KillBackend();
    if (random_() % 3 == 0) {
      postgres_.Stop();
    } else {
      killed_.push_back(HistoryNow());
      postgres_.Kill();
    }
    postgres_.Start();
  }

  void KillServer(ServerProcess& server) {
    killed_.push_back(HistoryNow());
    server.Kill();
    // PostgreSQL may still be about to notice that one of its own was killed.
    ASSERT_TRUE(WaitUntil([&] { return server.Start(); })) << server.Log();
  }

  // PostgreSQL then ends every other connection too, and recovers.
  void KillBackend() {
    const std::vector<pid_t> backends = BackendsOf(postgres_.dsn());
    ASSERT_FALSE(backends.empty());
    killed_.push_back(HistoryNow());
    kill(backends[random_() % backends.size()], SIGKILL);
  }

  [[nodiscard]] std::string Logs() const {
    std::string logs = postgres_.Log();
    for (const auto& server : servers_) logs += server->Log();
    return logs;
  }

  OwnPostgres postgres_{{"fsync=off"}};
  std::vector<std::unique_ptr<TestFolder>> folders_;
  std::vector<std::unique_ptr<ServerProcess>> servers_;
  std::mt19937_64 random_{kSeed};
  std::vector<int64_t> killed_;
};

TEST_F(PostgresTraffic, ThreeServersAreOneStoreWhileEverythingIsKilled) {
  KillUnderTraffic(kKills);
}

using LongPostgresTraffic = PostgresTraffic;
TEST_F(LongPostgresTraffic, ThreeServersAreOneStoreWhileEverythingIsKilled) {
  KillUnderTraffic(kLongKills);
}

}  // namespace
}  // namespace holdfast::testing
