// What a server does with its files beside writing changes is counted in its metrics.
#include "tests/support/requests.h"
#include "tests/support/reserved_port.h"
#include "tests/support/scrape.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <cstddef>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

void AddSlot(pb::CommitTurnRequest& commit, const std::string& owner, size_t bytes) {
  pb::Slot& slot = *commit.add_slots();
  slot.set_owner(owner);
  slot.set_version("1.0.0");
  slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
  slot.set_data(std::string(bytes, 'x'));
}

TEST(FileWork, OfARealServerIsCounted) {
  const TestFolder folder;
  const ReservedPort metrics;
  ServerProcess server(folder, {.more = absl::StrCat("telemetry: {metrics_address: \"",
                                                     metrics.address(), "\"}\n")});
  ASSERT_TRUE(server.Start()) << server.Log();
  WireClient client(server.address());
  const std::string token =
      client.Must(&Stub::CreateSession, test::CreateRequest("one")).lease_token();
  const auto done = [&](const char* work) {
    return Scrape(
        metrics.address())[absl::StrCat("holdfast_files_maintenance_total{work=\"", work, "\"}")];
  };
  EXPECT_EQ(done("log_switch") + done("rotation") + done("compaction"), 0);
  // Of what each sealed journal has, most is replaced, and a little stays.
  int turns = 0;
  EXPECT_TRUE(WaitUntil([&] {
    const auto begun = client.Must(&Stub::BeginTurn, test::BeginRequest("one", token));
    pb::CommitTurnRequest commit = test::CommitRequest("one", token, begun.turn(), "a message");
    AddSlot(commit, "replaced", size_t{200} << 10);
    AddSlot(commit, absl::StrCat("kept-", ++turns), size_t{2} << 10);
    client.Must(&Stub::CommitTurn, commit);
    return ::testing::Test::HasFailure() ||
           (done("log_switch") > 0 && done("rotation") > 0 && done("compaction") > 0);
  }));
  EXPECT_EQ(server.Stop().exit_code, 0) << server.Log();
}

}  // namespace
}  // namespace holdfast::testing
