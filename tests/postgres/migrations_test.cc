#include "store-postgres/admin/migrate.h"
#include "store-postgres/admin/schema_status.h"
#include "tests/postgres/unavailable.h"
#include "tests/support/postgres.h"
#include "tests/support/wait.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <array>
#include <thread>

namespace holdfast::testing {
namespace {

using pg::AppliedMigration;
using pg::CheckSchema;
using pg::Migrate;
using pg::Migration;
using pg::ReadApplied;
using ::testing::HasSubstr;

constexpr std::array<Migration, 3> kSteps = {
    {{1, "first", "CREATE TABLE public.a (b int)"},
     {2, "second", "INSERT INTO public.a VALUES (1)"},
     {3, "third", "-- oldest server: 2\nINSERT INTO public.a VALUES (2); SELECT 1"}}};
const std::span<const Migration> kAllSteps = kSteps;

int64_t CountA(pg::Connection& connection) {
  constexpr pg::Statement kCount = {"count", "SELECT count(*) FROM public.a"};
  return std::get<pg::Rows>(connection.Run(kCount, pg::Params())).Int(0, 0);
}

TEST(Migrations, AnEmptyDatabaseTakesEveryStepOnce) {
  const TestDatabase database(Contents::kNothing);
  const auto connection = ConnectAdmin(database.dsn());
  EXPECT_THAT(*ReadApplied(*connection), ::testing::IsEmpty());
  EXPECT_EQ(*Migrate(*connection, kAllSteps.first(2)), 2);
  EXPECT_EQ(*Migrate(*connection, kAllSteps.first(2)), 0);
  EXPECT_EQ(*Migrate(*connection, kAllSteps), 1);
  EXPECT_EQ(CountA(*Connect(database.dsn())), 2);
  const std::vector<AppliedMigration> applied = *ReadApplied(*connection);
  ASSERT_EQ(applied.size(), 3U);
  EXPECT_EQ(applied[2].version, 3);
  EXPECT_EQ(applied[2].name, "third");
  EXPECT_EQ(applied[2].digest, Sha256(kSteps[2].sql));
  EXPECT_EQ(applied[1].oldest_server, 2);
  EXPECT_EQ(applied[2].oldest_server, 2);
}

TEST(Migrations, OfAStepThatFailsNothingStaysAndThoseBeforeDo) {
  const std::array<Migration, 2> steps = {
      {{1, "first", "CREATE TABLE public.a (b int)"},
       {2, "broken", "INSERT INTO public.a VALUES (1); SELECT 1 / 0"}}};
  const TestDatabase database(Contents::kNothing);
  const auto connection = ConnectAdmin(database.dsn());
  EXPECT_THAT(UnavailableText(Migrate(*connection, steps).status()), HasSubstr("division by zero"));
  EXPECT_EQ(ReadApplied(*connection)->size(), 1U);
  EXPECT_EQ(CountA(*Connect(database.dsn())), 0);
  EXPECT_EQ(*Migrate(*connection, kAllSteps), 2) << "and it goes on from there";
}

// The first is held up in a step, so the others are there before it has taken any.
TEST(Migrations, FourAtOnceTakeEachStepOnce) {
  const std::array<Migration, 2> steps = {
      {{1, "first", "SELECT pg_advisory_xact_lock(7); CREATE TABLE public.a (b int)"},
       {2, "second", "INSERT INTO public.a VALUES (1), (2)"}}};
  constexpr int kAtOnce = 4;
  constexpr pg::Statement kWaiting = {
      "waiting", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"};
  OwnPostgres postgres({"fsync=off"});
  postgres.Start();
  const auto holder = Connect(postgres.dsn());
  ASSERT_EQ(holder->Script("SELECT pg_advisory_lock(7)"), absl::OkStatus());
  std::vector<std::thread> threads;
  std::atomic<int> taken = 0;
  for (int i = 0; i < kAtOnce; ++i) {
    threads.emplace_back(
        [&] { taken += Migrate(*ConnectAdmin(postgres.dsn()), steps).value_or(-100); });
  }
  EXPECT_TRUE(WaitUntil([&] {
    const pg::Answer answer = holder->Run(kWaiting, pg::Params());
    return std::get<pg::Rows>(answer).Int(0, 0) == kAtOnce;
  }));
  ASSERT_EQ(holder->Script("SELECT pg_advisory_unlock(7)"), absl::OkStatus());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(CountA(*holder), 2);
}

TEST(Migrations, AStepThatCannotBeNotedLeavesNothing) {
  const std::array<Migration, 2> steps = {
      {{1, "first", "CREATE TABLE public.a (b int)"},
       {2, "noted",
        "INSERT INTO public.a VALUES (1); "
        "INSERT INTO holdfast.migration VALUES (2, 'already', '', 2)"}}};
  const TestDatabase database(Contents::kNothing);
  const auto connection = ConnectAdmin(database.dsn());
  EXPECT_FALSE(Migrate(*connection, steps).ok());
  EXPECT_EQ(CountA(*Connect(database.dsn())), 0);
  EXPECT_EQ(ReadApplied(*connection)->size(), 1U);
}

TEST(Migrations, AnOlderSchemaSaysWhatToDo) {
  const TestDatabase database(Contents::kNothing);
  const auto connection = ConnectAdmin(database.dsn());
  EXPECT_THAT(UnavailableText(CheckSchema(*ReadApplied(*connection), kAllSteps)),
              HasSubstr("at version 0, and this server needs 3: run holdfastd migrate"));
  ASSERT_TRUE(Migrate(*connection, kAllSteps.first(2)).ok());
  EXPECT_THAT(UnavailableText(CheckSchema(*ReadApplied(*connection), kAllSteps)),
              HasSubstr("at version 2"));
  ASSERT_TRUE(Migrate(*connection, kAllSteps).ok());
  EXPECT_EQ(CheckSchema(*ReadApplied(*connection), kAllSteps), absl::OkStatus());
}

// Step 3 says that servers of step 2 may go on; those of step 1 may not.
TEST(Migrations, ServesNewerSchemaWhenItAllowsThisVersion) {
  const TestDatabase database(Contents::kNothing);
  const auto connection = ConnectAdmin(database.dsn());
  ASSERT_TRUE(Migrate(*connection, kAllSteps).ok());
  const std::vector<AppliedMigration> applied = *ReadApplied(*connection);
  EXPECT_EQ(CheckSchema(applied, kAllSteps.first(2)), absl::OkStatus());
  EXPECT_THAT(UnavailableText(CheckSchema(applied, kAllSteps.first(1))),
              HasSubstr("which servers of version 1 may not serve"));
  EXPECT_EQ(*Migrate(*connection, kAllSteps.first(1)), 0) << "an older program takes nothing back";
}

TEST(Migrations, AStepOfTheSameNumberButAnotherTextIsRefused) {
  std::array<Migration, 3> other = kSteps;
  other[1].sql = "INSERT INTO public.a VALUES (7)";
  const TestDatabase database(Contents::kNothing);
  const auto connection = ConnectAdmin(database.dsn());
  ASSERT_TRUE(Migrate(*connection, kAllSteps).ok());
  EXPECT_THAT(UnavailableText(CheckSchema(*ReadApplied(*connection), other)),
              HasSubstr("step 2 (second) is not the one"));
  EXPECT_THAT(UnavailableText(Migrate(*connection, other).status()), HasSubstr("step 2 (second)"));
}

TEST(Migrations, WhereNothingIsMissingNothingNeedBeAllowed) {
  const TestDatabase database(Contents::kNothing);
  const std::string role = database.name();
  const auto owner = Connect(database.dsn());
  ASSERT_TRUE(Migrate(*ConnectAdmin(database.dsn()), kAllSteps).ok());
  ASSERT_EQ(owner->Script("CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA holdfast TO " +
                          role + "; GRANT SELECT ON holdfast.migration TO " + role),
            absl::OkStatus());
  {
    const auto connection = ConnectAdmin(database.dsn() + " user=" + role);
    EXPECT_EQ(*Migrate(*connection, kAllSteps), 0);
    EXPECT_EQ(*Migrate(*connection, kAllSteps.first(1)), 0);
  }
  EXPECT_EQ(owner->Script("DROP OWNED BY " + role + "; DROP ROLE " + role), absl::OkStatus());
}

TEST(Migrations, ReportsMissingRightsOfRole) {
  const TestDatabase database(Contents::kNothing);
  ASSERT_EQ(Connect(database.dsn())->Script("CREATE ROLE " + database.name() + " LOGIN"),
            absl::OkStatus());
  {
    const auto connection = ConnectAdmin(database.dsn() + " user=" + database.name());
    EXPECT_THAT(UnavailableText(Migrate(*connection, kAllSteps).status()),
                HasSubstr("permission denied"));
  }
  EXPECT_EQ(Connect(database.dsn())->Script("DROP ROLE " + database.name()), absl::OkStatus());
}

}  // namespace
}  // namespace holdfast::testing
