// The metrics of the schema: which step the database has, and which the server's program knows.
#include "store-postgres/migrations.h"
#include "tests/postgres/server_group.h"
#include "tests/support/reserved_port.h"
#include "tests/support/scrape.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <string>
#include <utility>

namespace holdfast::testing {
namespace {

// Of the database, and of the program.
using Steps = std::pair<double, double>;

Steps StepsAt(const ReservedPort& port) {
  const Samples samples = Scrape(port.address());
  const auto now = [&](const std::string& name) {
    const auto found = samples.find(name);
    return found == samples.end() ? -1 : found->second;
  };
  return {now("holdfast_postgres_schema_step"), now("holdfast_postgres_schema_step_known")};
}

std::string MetricsAt(const ReservedPort& port) {
  return absl::StrCat("telemetry: {metrics_address: \"", port.address(), "\"}\n");
}

// The server of before is started again over the newer schema, as by a rollback.
TEST(PgSchemaMetrics, ShowTheServerThatIsBehindItsDatabase) {
  const double newest = pg::NeededSchema();
  const ReservedPort former;
  const ReservedPort present;
  std::string said;
  ServerGroup group;
  ASSERT_EQ(group.Migrate(said, {}, OneStepBehind()), 0) << said;
  group.Add(MetricsAt(former), OneStepBehind());
  EXPECT_EQ(StepsAt(former), Steps(newest - 1, newest - 1));

  ASSERT_EQ(group.Migrate(said), 0) << said;
  group.Add(MetricsAt(present));
  EXPECT_EQ(StepsAt(present), Steps(newest, newest));
  ASSERT_EQ(group.server(0).Stop().exit_code, 0) << group.Logs();
  group.Restart(0, OneStepBehind());
  EXPECT_EQ(StepsAt(former), Steps(newest, newest - 1));

  ASSERT_EQ(group.server(0).Stop().exit_code, 0) << group.Logs();
  group.Restart(0);
  EXPECT_EQ(StepsAt(former), Steps(newest, newest));
}

}  // namespace
}  // namespace holdfast::testing
