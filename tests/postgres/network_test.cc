// A network that falls silent: no call waits for an answer for ever.
#include "store-postgres/pg/connection.h"
#include "store-postgres/postgres_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/postgres.h"
#include "tests/support/postgres_gate.h"
#include "tests/support/seeded_random.h"
#include "tests/support/wait.h"

#include "gtest/gtest.h"

#include <future>
#include <net/if.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <variant>

namespace holdfast::testing {
namespace {

constexpr pg::Statement kSelectOne = {"one", "SELECT 1::bigint"};
constexpr pg::Statement kSleepStatement = {"wait", "SELECT pg_sleep(600)"};
constexpr pg::Statement kSleepingBackends = {
    "waiting", "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"};

// Takes this thread, and what it starts, into a network of its own.
void LeaveTheNetwork() {
  ASSERT_EQ(unshare(CLONE_NEWNET), 0) << "this test makes a network, which takes a privileged user";
}

// Brings the loopback of this thread's network up, or takes it down: then nothing arrives any more,
// and neither end gets an error.
void SetLoopback(bool up) {
  ifreq request = {};
  const std::string name = "lo";
  name.copy(request.ifr_name, sizeof request.ifr_name);
  request.ifr_flags = up ? IFF_UP : 0;
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(ioctl(any, SIOCSIFFLAGS, &request), 0);
  close(any);
}

int64_t NumberOf(const pg::Answer& answer) {
  const auto* const rows = std::get_if<pg::Rows>(&answer);
  return rows == nullptr || rows->empty() ? -1 : rows->Int(0, 0);
}

// Without any timeout of a statement's: the transport itself must detect it, while it waits for an
// answer and while it cannot get rid of a question.
void LoseTheNetwork() {
  LeaveTheNetwork();
  SetLoopback(true);
  OwnPostgres postgres({"fsync=off", "listen_addresses=127.0.0.1"});
  postgres.Start();
  const auto open = [] {
    return pg::Connection::Open({.dsn = "host=127.0.0.1 user=holdfast dbname=postgres",
                                 .statement_timeout = absl::InfiniteDuration()});
  };
  auto waiting = open();
  auto asking = open();
  ASSERT_TRUE(waiting.ok() && asking.ok()) << waiting.status();
  ASSERT_EQ(NumberOf((*asking)->Run(kSelectOne, pg::Params())), 1);
  auto waited = std::async(std::launch::async,
                           [&] { return (*waiting)->Run(kSleepStatement, pg::Params()); });
  const auto direct = Connect(postgres.dsn());
  ASSERT_TRUE(
      WaitUntil([&] { return NumberOf(direct->Run(kSleepingBackends, pg::Params())) == 1; }));
  SetLoopback(false);
  const pg::Answer asked = (*asking)->Run(kSelectOne, pg::Params());
  const pg::Answer gone = waited.get();
  for (const pg::Answer* const answer : {&asked, &gone}) {
    ASSERT_TRUE(std::holds_alternative<pg::Failure>(*answer));
    EXPECT_EQ(std::get<pg::Failure>(*answer).effect, pg::Effect::kUnknown);
  }
  EXPECT_FALSE((*asking)->usable() || (*waiting)->usable());
  SetLoopback(true);
  const auto again = open();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(NumberOf((*again)->Run(kSelectOne, pg::Params())), 1);
}

TEST(PgNetwork, DetectsLossOfPeerWithoutReset) { std::thread(LoseTheNetwork).join(); }

TEST(PgNetwork, HealthIsAnsweredWhileTheDatabaseIsSilent) {
  const TestDatabase database(Contents::kStore);
  PostgresGate gate(SharedPostgres());
  const test::FakeClock clock;
  test::SeededRandom random;
  pg::PostgresOptions options;
  options.connect = {.dsn = DsnOf(gate.directory(), database.name()),
                     .statement_timeout = absl::InfiniteDuration()};
  const auto store = pg::MakePostgresStore(options, clock, random);
  ASSERT_EQ(store->Init(), absl::OkStatus());
  ASSERT_EQ(store->Activate(), absl::OkStatus());
  EXPECT_EQ(store->CheckHealth(), absl::OkStatus());
  gate.Hold();
  EXPECT_FALSE(store->CheckHealth().ok());
  gate.Open();
  EXPECT_EQ(store->CheckHealth(), absl::OkStatus());
  EXPECT_EQ(store->Deactivate(), absl::OkStatus());
  store->Dispose();
}

}  // namespace
}  // namespace holdfast::testing
