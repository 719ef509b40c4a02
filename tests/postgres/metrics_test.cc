// The metrics of a server over PostgreSQL: those that such a store alone has, and what a scrape
// costs the database.
#include "store-postgres/admin/migrate.h"
#include "store-postgres/migrations.h"
#include "tests/postgres/faults_fixture.h"
#include "tests/support/requests.h"
#include "tests/support/reserved_port.h"
#include "tests/support/scrape.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <map>
#include <sstream>
#include <string>
#include <string_view>

namespace holdfast::testing {
namespace {

class PgMetrics : public FaultsTest {
 protected:
  PgMetrics() : FaultsTest({"fsync=off", "log_statement=all", "log_parameter_max_length=0"}) {}

  void SetUp() override {
    postgres().Start();
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres().dsn())).ok());
    // One of them is for reads.
    Serve({.more = absl::StrCat("telemetry: {metrics_address: \"", port_.address(), "\"}\n"),
           .dsn = DsnOf(gate().directory(), "postgres"),
           .store = ", connections: 2"});
  }

  [[nodiscard]] double Now(const std::string& sample) const {
    const Samples samples = Scrape(port_.address());
    const auto found = samples.find(sample);
    return found == samples.end() ? -1 : found->second;
  }

  const ReservedPort port_;
};

TEST_F(PgMetrics, AScrapeCausesNoStatement) {
  const size_t from = postgres().Log().size();
  for (int scrape = 0; scrape < 1000; ++scrape) ASSERT_FALSE(Scrape(port_.address()).empty());
  std::map<std::string, int> statements;
  std::istringstream log(postgres().Log().substr(from));
  for (std::string line; std::getline(log, line);) {
    constexpr std::string_view kMark = "LOG:  execute ";
    const size_t at = line.find(kMark);
    if (at == std::string::npos) continue;
    const std::string behind = line.substr(at + kMark.size());
    ++statements[behind.substr(0, behind.find(':'))];
  }
  // Looks of the server's own, about once a second, are none of a scrape's.
  for (const auto& [name, count] : statements) EXPECT_LT(count, 500) << name;
  EXPECT_LE(statements["database_contents"], 1) << "once a minute";
  EXPECT_LE(statements["schema_step"], 1) << "the same";
  EXPECT_EQ(Now("exposer_scrapes_total"), 1000) << "of those before";
}

TEST_F(PgMetrics, ShowsTheDatabase) {
  EXPECT_EQ(Now("holdfast_postgres_connections_limit"), 2);
  EXPECT_GE(Now("holdfast_postgres_connections_opened_total"), 1);
  EXPECT_GT(Now("holdfast_postgres_database_size_bytes"), 1e6);
  EXPECT_EQ(Now("holdfast_postgres_serving_servers"), 1);
  EXPECT_EQ(Now("holdfast_postgres_timeline"), 1);
  EXPECT_EQ(Now("holdfast_postgres_schema_step"), pg::NeededSchema());
  EXPECT_EQ(Now("holdfast_postgres_schema_step_known"), pg::NeededSchema());
  served().TakeTurn("one", token(), "said");
  EXPECT_GT(Now("holdfast_postgres_connections{state=\"idle\"}"), 0);
  EXPECT_GE(Now("holdfast_store_group_changes_count"), 3);
  EXPECT_GT(Now("holdfast_store_group_bytes_sum"), 0);
  EXPECT_EQ(Now("holdfast_files_size_bytes"), -1) << "it has no files";
}

TEST_F(PgMetrics, CountsTheActiveSessionsAtItsStart) {
  EXPECT_EQ(Now("holdfast_sessions{lifecycle=\"ACTIVE\"}"), 0);
  EXPECT_EQ(Now("holdfast_sessions{lifecycle=\"IDLE\"}"), -1) << "to count those reads them all";
  served().Prepare("one", token(), "its turn has begun");
  EXPECT_EQ(served().server.Stop().exit_code, 0);
  ASSERT_TRUE(served().server.Start()) << served().server.Log();
  EXPECT_EQ(Now("holdfast_sessions{lifecycle=\"ACTIVE\"}"), 1);
}

// One connection may write: while a locked row keeps it, another session's change waits for it in
// vain.
TEST_F(PgMetrics, CountsWaitsForAConnection) {
  const std::string two = served().Create("two");
  const auto first = served().Prepare("one", token(), "waited");
  const auto second = served().Prepare("two", two, "refused");
  const auto holder = Direct();
  ASSERT_EQ(
      holder->Script("BEGIN; SELECT 1 FROM holdfast.session WHERE session_id = 'one' FOR UPDATE"),
      absl::OkStatus());
  auto waits = served().CommitBeside(first);
  ASSERT_TRUE(Await("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", 1));
  EXPECT_GE(Now("holdfast_postgres_connections{state=\"in_use\"}"), 1);
  EXPECT_EQ(served().Commit(second).verdict.reason, "STORE_UNAVAILABLE");
  EXPECT_GE(Now("holdfast_postgres_pool_waits_total"), 1);
  EXPECT_GE(Now("holdfast_postgres_pool_timeouts_total"), 1);
  EXPECT_GT(Now("holdfast_postgres_pool_wait_seconds_total"), 1);
  EXPECT_GE(Now("holdfast_store_errors_total{call=\"Commit\",reason=\"STORE_UNAVAILABLE\"}"), 1);
  ASSERT_EQ(holder->Script("COMMIT"), absl::OkStatus());
  EXPECT_EQ(waits.get().verdict.reason, "OK");
}

}  // namespace
}  // namespace holdfast::testing
