// The primary is lost under traffic, its synchronous standby takes its place, and the old primary
// comes back: one correct store could have given all the answers.
#include "store-postgres/postgres_store.h"
#include "tests/history/kills.h"
#include "tests/history/record_file.h"
#include "tests/history/traffic.h"
#include "tests/postgres/faults_fixture.h"
#include "tests/postgres/verifier.h"
#include "tests/support/requests.h"
#include "tests/support/seeded_random.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <iostream>

namespace holdfast::testing {
namespace {

using history::HistoryNow;
using history::Kill;
using history::Traffic;
using ::testing::HasSubstr;

constexpr uint64_t kCallsPerPrimary = 200;
constexpr uint64_t kMostClients = 6;
constexpr char kAudit[] = "SELECT count(*) FROM holdfast.log";
constexpr char kWaitingBackends[] =
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

class PgFailover : public ::testing::Test {
 protected:
  void SetUp() override {
    old_.Start();
    new_.CopyFrom(old_);
    new_.Start();
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(old_.dsn())).ok());
  }

  // How a server finds both, the one that `first` names first.
  static std::string Dsn(const OwnPostgres& first, const OwnPostgres& then) {
    return "host=" + first.directory() + "," + then.directory() + " user=holdfast dbname=postgres";
  }
  // A statement that waited for the end would hold back what is still replayed, and so wait long.
  void Promote() {
    ASSERT_EQ(Connect(new_.dsn())->Script("SELECT pg_promote(false)"), absl::OkStatus());
    ASSERT_TRUE(WaitUntil([&] { return Number(new_, "pg_is_in_recovery()::integer") == 0; }));
  }
  // So that every connection to the new primary has to be made again.
  void EndConnections() {
    ASSERT_EQ(Connect(new_.dsn())
                  ->Script("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                           " WHERE application_name = 'holdfastd' AND pid <> pg_backend_pid()"),
              absl::OkStatus());
  }
  // What `sql`, an expression, is there.
  static int64_t Number(const OwnPostgres& postgres, const std::string& sql) {
    const std::string ask = absl::StrCat("SELECT (", sql, ")::bigint");
    const pg::Answer answer =
        Connect(postgres.dsn())->Run({.name = "", .sql = ask.c_str()}, pg::Params());
    return std::get<pg::Rows>(answer).Int(0, 0);
  }

  OwnPostgres old_{{"fsync=off", "synchronous_standby_names=*"}};
  OwnPostgres new_{{"fsync=off"}};
};

// Two servers, of which one names the old primary first.
class PgFailoverTraffic : public PgFailover {
 protected:
  void SetUp() override {
    PgFailover::SetUp();
    one_.Start();
    other_.Start();
  }

  // Until so many more mutations were acknowledged, and one is in flight at `server`.
  void Go(const Traffic& traffic, size_t server) {
    const uint64_t enough = traffic.acknowledged() + kCallsPerPrimary;
    ASSERT_TRUE(WaitUntil([&] {
      return traffic.acknowledged() >= enough && traffic.in_flight_at(server) > 0;
    })) << Logs();
    EXPECT_TRUE(one_.server.Running() && other_.server.Running()) << Logs();
  }
  [[nodiscard]] std::string Logs() const {
    return absl::StrCat(one_.server.Log(), other_.server.Log(), old_.Log(), new_.Log());
  }

  Served one_{{.dsn = Dsn(old_, new_)}};
  Served other_{{.dsn = Dsn(new_, old_)}};
};

TEST_F(PgFailoverTraffic, LosesNothingAndWritesNothingToOldPrimary) {
  const TestFolder folder;
  history::TrafficPlan plan = {.addresses = {one_.server.address(), other_.server.address()},
                               .file = folder.File("history")};
  Traffic traffic(plan);
  traffic.Start();
  Go(traffic, 0);
  // What most clients have sent waits for a standby that says nothing, and never gets it.
  new_.Pause();
  ASSERT_TRUE(WaitUntil([&] {
    return traffic.in_flight() >= kMostClients && Number(old_, kWaitingBackends) > 0;
  })) << Logs();
  std::vector<Kill> kills = {{.at = HistoryNow()}};
  new_.Kill();
  old_.Kill();
  new_.Start();
  Promote();
  Go(traffic, 0);
  old_.Start();
  const int64_t found = Number(old_, kAudit);
  EndConnections();
  Go(traffic, 1);
  // A restart loses the newest history that the server has seen.
  kills.push_back({.at = HistoryNow(), .server = 1});
  other_.server.Kill();
  ASSERT_TRUE(other_.server.Start()) << Logs();
  Go(traffic, 0);
  EndConnections();
  Go(traffic, 1);
  traffic.Stop();

  EXPECT_EQ(Number(old_, kAudit), found) << "a server has written to the old primary";
  one_.server.Kill();
  other_.server.Kill();
  Served fresh({.dsn = Dsn(new_, old_)});
  fresh.Start();
  plan.addresses = {fresh.server.address()};
  VerifyBeside(folder, plan);
  const absl::StatusOr<history::History> history = history::ReadRecord(plan.file);
  ASSERT_TRUE(history.ok()) << history.status();
  for (const Kill& kill : kills) EXPECT_TRUE(history::MetAMutation(*history, kill));
  EXPECT_GE(history::Unanswered(*history), 1U);
  std::cout << "figure: " << kills.size() << " kills\n";
}

// It has seen that there is a newer history, and that is gone for a while.
TEST_F(PgFailover, AServerThatHasSeenTheNewPrimaryTakesNothingFromTheOldOne) {
  Served served({.dsn = Dsn(old_, new_)});
  served.Start();
  const std::string token = served.Create("one");
  const auto commit = served.Prepare("one", token, "before");
  served.CommitAtLast(commit);
  old_.Kill();
  Promote();
  EXPECT_TRUE(WaitUntil([&] { return served.Commit(commit).verdict.reason == "OK"; }));
  served.TakeTurn("one", token, "after");

  old_.Start();
  new_.Kill();
  pb::GetSessionRequest get;
  get.set_session_id("one");
  EXPECT_EQ(served.client->Reason(&Stub::GetSession, get), "STORE_UNAVAILABLE");
  EXPECT_TRUE(served.server.AwaitLog("older timeline"));
  new_.Start();
  EXPECT_TRUE(WaitUntil([&] { return served.server.Serves(); })) << served.server.Log();
  EXPECT_EQ(served.Texts("one"), (std::vector<std::string>{"before", "after"}));
}

// No server takes renewals during the failover.
TEST_F(PgFailover, ALeaseOutlivesIt) {
  Served served({.dsn = Dsn(old_, new_)});
  served.Start();
  auto create = test::CreateRequest("held");
  create.mutable_lease_ttl()->set_seconds(5);
  served.client->Must(&Stub::CreateSession, create);
  old_.Kill();
  // By the clock alone the lease has ended before a primary serves.
  const std::string ended = "extract(epoch from clock_timestamp() - max(expires_at)) > 0";
  ASSERT_TRUE(WaitUntil(
      [&] { return Number(new_, "SELECT (" + ended + ")::integer FROM holdfast.session") == 1; }));
  Promote();
  std::string reason;
  EXPECT_TRUE(WaitUntil([&] {
    reason = served.client->Reason(&Stub::ResumeSession, test::ResumeRequest("held"));
    return reason != "STORE_UNAVAILABLE" && reason != "DEADLINE";
  }));
  EXPECT_EQ(reason, "LEASE_HELD");
}

// A store that starts now has seen no newer history, and finds a primary that accepts writes. But a
// write at the old primary waits for a standby, so the probe at the start never commits.
TEST_F(PgFailover, AStoreIsNotOpenedAtTheOldPrimary) {
  old_.Kill();
  Promote();
  old_.Start();
  test::SeededRandom random;
  const auto open = [&](const std::string& dsn) {
    const auto store = pg::MakePostgresStore(
        {.connect = {.dsn = dsn, .statement_timeout = absl::Seconds(3)}}, SystemClock(), random);
    const absl::Status opened = store->Init();
    store->Dispose();
    return std::string(opened.message());
  };
  EXPECT_THAT(open(Dsn(old_, new_)), HasSubstr("nothing can be written to the database"));
  EXPECT_EQ(open(Dsn(new_, old_)), "");
}

}  // namespace
}  // namespace holdfast::testing
