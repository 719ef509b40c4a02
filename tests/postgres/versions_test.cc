// An update without a pause: the schema is migrated and the servers are replaced one by one while
// clients go on; one correct store could have given all the answers. The older program is this one
// without the newest step of the schema.
#include "store-postgres/admin/migrate.h"
#include "store-postgres/admin/schema_status.h"
#include "tests/history/checker.h"
#include "tests/history/traffic.h"
#include "tests/postgres/server_group.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <iostream>
#include <string>

namespace holdfast::testing {
namespace {

using history::Traffic;
using ::testing::HasSubstr;
using Stub = WireClient::Stub;

constexpr uint64_t kCallsPerVersion = 300;
constexpr size_t kComplaintsPrinted = 20;

int NewestStep() { return pg::NeededSchema(); }

class PgVersions : public ::testing::Test {
 protected:
  // Until so many more mutations were acknowledged. No server may end by itself.
  void Go(const Traffic& traffic) {
    const uint64_t enough = traffic.acknowledged() + kCallsPerVersion;
    ASSERT_TRUE(WaitUntil([&] { return traffic.acknowledged() >= enough; })) << group_.Logs();
    ASSERT_TRUE(group_.AllRunning()) << group_.Logs();
  }
  void Replace(size_t server) {
    ASSERT_EQ(group_.server(server).StopUnderLoad().exit_code, 0) << group_.server(server).Log();
    group_.Restart(server);
  }
  // What a server says that cannot start.
  std::string WhyNotServed(const Environment& environment = {}) {
    const TestFolder folder;
    ServerProcess server(folder, {.dsn = group_.postgres().dsn()});
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    EXPECT_FALSE(server.Start());
    for (const auto& [name, value] : environment) unsetenv(name.c_str());
    return server.Log();
  }

  ServerGroup group_;
  std::string said_;
};

TEST_F(PgVersions, ServersOfBothServeWhileTheSchemaMovesOn) {
  ASSERT_EQ(group_.Migrate(said_, {}, OneStepBehind()), 0) << said_;
  const std::string older =
      absl::StrCat("at version ", NewestStep() - 1, ", and this server needs ", NewestStep(),
                   ": run holdfastd migrate");
  EXPECT_THAT(WhyNotServed(), HasSubstr(older));
  EXPECT_EQ(group_.Migrate(said_, {"--status"}), 1);
  EXPECT_THAT(said_, HasSubstr(older));

  group_.Add("", OneStepBehind());
  group_.Add("", OneStepBehind());
  const TestFolder folder;
  Traffic traffic({.addresses = group_.Addresses(), .file = folder.File("history")});
  traffic.Start();
  Go(traffic);  // both of before
  ASSERT_EQ(group_.Migrate(said_), 0) << said_;
  EXPECT_THAT(said_, HasSubstr(absl::StrCat("schema ", NewestStep(), ", 1 step taken")));
  Go(traffic);  // both of before, over the schema of after
  Replace(0);
  Go(traffic);  // one of each
  Replace(1);
  Go(traffic);  // both of after
  traffic.Stop();

  const absl::StatusOr<history::History> history = traffic.Finish();
  ASSERT_TRUE(history.ok()) << history.status();
  std::cout << history::Summary(*history);
  const history::Complaints complaints = history::Check(*history);
  EXPECT_TRUE(complaints.empty()) << ToText(complaints, kComplaintsPrinted);
  EXPECT_EQ(group_.Migrate(said_, {"--status"}), 0) << said_;
  const std::string knows = absl::StrCat(", knows schema ", NewestStep(), ", backend ");
  EXPECT_EQ(pg::ReadServing(*ConnectAdmin(group_.postgres().dsn()))->size(), 2U);
  EXPECT_THAT(said_, HasSubstr(knows));
}

// The range is looked at on every connection that is made, not once.
TEST_F(PgVersions, ASchemaThatBecomesTooNewIsServedNoMore) {
  ASSERT_EQ(group_.Migrate(said_), 0) << said_;
  group_.Add();
  const auto serves = [&] { return group_.server(0).Serves(); };
  const auto created = group_.client(0).Must(&Stub::CreateSession, test::CreateRequest("one"));
  group_.Do(
      "INSERT INTO holdfast.migration SELECT max(version) + 1, 'later', '', max(version) + 1"
      " FROM holdfast.migration");
  const auto begin = test::BeginRequest("one", created.lease_token());
  group_.Do(
      "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
      " WHERE application_name LIKE 'holdfastd%' AND pid <> pg_backend_pid()");
  EXPECT_EQ(group_.client(0).Reason(&Stub::BeginTurn, begin), "STORE_UNAVAILABLE");
  EXPECT_TRUE(WaitUntil([&] { return !serves(); }));
  EXPECT_THAT(group_.server(0).Log(), HasSubstr("start a newer holdfastd"));
  EXPECT_THAT(WhyNotServed(), HasSubstr("start a newer holdfastd"));

  group_.Do("DELETE FROM holdfast.migration WHERE name = 'later'");
  EXPECT_TRUE(WaitUntil(serves));
  group_.client(0).Must(&Stub::BeginTurn, begin);
}

// A step that servers which run may not serve would cut them off.
TEST_F(PgVersions, AStepThatEndsAServerIsNotTakenWhileItRuns) {
  ASSERT_EQ(group_.Migrate(said_), 0) << said_;
  group_.Add();
  std::vector<pg::Migration> steps(pg::Migrations().begin(), pg::Migrations().end());
  const int next = NewestStep() + 1;
  const std::string fits = absl::StrCat("-- oldest server: ", NewestStep(), "\nSELECT 1");
  steps.push_back({.version = next, .name = "fits", .sql = fits});
  steps.push_back({.version = next + 1, .name = "ends_them", .sql = "SELECT 1"});
  const auto connection = ConnectAdmin(group_.postgres().dsn());
  const auto refused = pg::Migrate(*connection, steps);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr(absl::StrCat("step ", next + 1,
                                     " would cut off a running server that knows only steps up to ",
                                     NewestStep(), ": update it to a version between")));
  EXPECT_EQ(pg::ReadApplied(*connection)->size(), steps.size() - 1);
  group_.server(0).Kill();
  EXPECT_TRUE(WaitUntil([&] { return pg::ReadServing(*connection)->empty(); }));
  EXPECT_EQ(*pg::Migrate(*connection, steps), 1);
}

}  // namespace
}  // namespace holdfast::testing
