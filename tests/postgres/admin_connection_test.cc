// The connection of an operator's command: what it is opened with, and what it says of an outcome
// that it cannot know.
#include "session/refusal.h"
#include "store-postgres/admin/adopt.h"
#include "store-postgres/admin/connection.h"
#include "store-postgres/admin/migrate.h"
#include "store-postgres/admin/schema_status.h"
#include "store-postgres/connection_check.h"
#include "store-postgres/pg/keywords.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <array>
#include <future>
#include <span>
#include <string>
#include <variant>

namespace holdfast::testing {
namespace {

using pg::AdminConnection;
using pg::Migrate;
using pg::Migration;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string OutcomeIn(const absl::Status& status) {
  EXPECT_TRUE(Is(status, Reason::kStoreUnavailable)) << status;
  return RefusalOf(status).facts().at("outcome");
}

// Cancels the wait of the one transaction that waits for its standby.
void CancelStandbyWait(pg::Connection& connection) {
  constexpr pg::Statement kCancel = {"cancel",
                                     "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
                                     " WHERE wait_event = 'SyncRep'"};
  EXPECT_TRUE(WaitUntil([&] {
    const pg::Answer answer = connection.Run(kCancel, pg::Params());
    return !std::get<pg::Rows>(answer).empty();
  }));
}

// A cluster whose commits wait for a standby that is not there, apart from those of local().
class AbsentStandby : public ::testing::Test {
 protected:
  AbsentStandby() { postgres_.Start(); }
  [[nodiscard]] std::string dsn() const { return postgres_.dsn(); }
  [[nodiscard]] std::string local() const {
    return dsn() + " options='-c synchronous_commit=local'";
  }

 private:
  OwnPostgres postgres_{{"fsync=off", "synchronous_standby_names=absent"}};
};

TEST(AdminConnectionString, IsQuotedAndHoldsOurSettings) {
  const auto text = pg::ConnectionString(
      {.dsn = "postgresql://ada@one,two/it%27s", .first_host = 1, .password = R"(a b'c\d)"});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, AllOf(HasSubstr("host='two,one'"), HasSubstr(R"(dbname='it\'s')"),
                           HasSubstr(R"(password='a b\'c\\d')"), HasSubstr("user='ada'"),
                           HasSubstr("target_session_attrs='read-write'"),
                           HasSubstr("-c holdfast.connection=own")));
}

TEST(AdminConnectionOpen, HidesPasswordWhenUnreachable) {
  const auto none =
      AdminConnection::Open({.dsn = "host=/nonexistent dbname=x", .password = "hush"});
  ASSERT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(none.status().message()),
              AllOf(HasSubstr("/nonexistent"), Not(HasSubstr("hush"))));
  EXPECT_EQ(AdminConnection::Open({.dsn = "host"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A connection that libpqxx opened again would go on without the lock of the migration.
TEST(AdminConnectionMigrates, OnceAndIsNotReopenedWhenItsBackendIsKilled) {
  const std::array<Migration, 2> deadly = {
      {{1, "first", "CREATE TABLE public.a (b int)"},
       {2, "deadly", "SELECT pg_terminate_backend(pg_backend_pid())"}}};
  const std::array<Migration, 2> harmless = {{deadly[0], {2, "harmless", "SELECT 1"}}};
  const TestDatabase database(Contents::kNothing);
  const auto connection = ConnectAdmin(database.dsn());
  const absl::Status killed = Migrate(*connection, deadly).status();
  EXPECT_EQ(OutcomeIn(killed), "known");
  EXPECT_THAT(std::string(killed.message()), HasSubstr("the connection broke"));
  EXPECT_FALSE(Migrate(*connection, harmless).ok());
  const auto fresh = ConnectAdmin(database.dsn());
  EXPECT_THAT(*ReadApplied(*fresh), SizeIs(1));
  EXPECT_EQ(*Migrate(*fresh, harmless), 1);
}

TEST_F(AbsentStandby, AdoptSaysThatItsOutcomeIsUnknownWhenTheWaitIsCut) {
  ASSERT_TRUE(Migrate(*ConnectAdmin(local())).ok());
  const auto connection = ConnectAdmin(dsn());
  auto adopted = std::async(std::launch::async, [&] { return pg::Adopt(*connection).status(); });
  CancelStandbyWait(*Connect(dsn()));
  const absl::Status status = adopted.get();
  EXPECT_EQ(OutcomeIn(status), "unknown");
  EXPECT_THAT(std::string(status.message()), HasSubstr("run the command again"));
  EXPECT_EQ(CheckConnection(*Connect(dsn()))->identity.incarnation, Incarnation(2));
}

TEST_F(AbsentStandby, AStepSaysThatItsOutcomeIsUnknownWhenTheWaitIsCut) {
  const std::array<Migration, 2> steps = {
      {{1, "first", "CREATE TABLE public.a (b int)"}, {2, "second", "CREATE TABLE public.c ()"}}};
  const std::span<const Migration> all = steps;
  ASSERT_TRUE(Migrate(*ConnectAdmin(local()), all.first(1)).ok());
  const auto connection = ConnectAdmin(dsn());
  auto taken = std::async(std::launch::async, [&] { return Migrate(*connection, all).status(); });
  CancelStandbyWait(*Connect(dsn()));
  EXPECT_EQ(OutcomeIn(taken.get()), "unknown");
  EXPECT_EQ(*Migrate(*ConnectAdmin(dsn()), all), 0) << "it was taken here";
}

}  // namespace
}  // namespace holdfast::testing
