#include "store-postgres/connection_check.h"

#include "platform/clock.h"
#include "store-postgres/admin/adopt.h"
#include "store-postgres/pg/pool.h"
#include "tests/postgres/unavailable.h"
#include "tests/support/postgres.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <array>

namespace holdfast::testing {
namespace {

using pg::Adopt;
using pg::CheckConnection;
using pg::CheckSame;
using pg::Identity;
using pg::Migration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As much of a store's schema as a connection check looks at.
constexpr std::array<Migration, 1> kCheckedSchema = {{{1, "store", R"(
CREATE TABLE holdfast.store (store_id text, incarnation bigint, system_identifier bigint);
INSERT INTO holdfast.store
SELECT gen_random_uuid()::text, 1, system_identifier FROM pg_control_system();
CREATE FUNCTION holdfast.clock() RETURNS timestamptz LANGUAGE sql AS 'SELECT clock_timestamp()';
CREATE TABLE holdfast.feed (xid xid8);
INSERT INTO holdfast.feed VALUES ('7'), ('9000000000000');
)"}}};

std::unique_ptr<pg::Connection> Migrated(const std::string& dsn) {
  EXPECT_EQ(*pg::Migrate(*ConnectAdmin(dsn), kCheckedSchema), 1);
  return Connect(dsn);
}

TEST(ConnectionCheck, ReturnsIdentityAndNotesTimeline) {
  const TestDatabase database(Contents::kNothing);
  const auto connection = Migrated(database.dsn());
  const auto check = CheckConnection(*connection, kCheckedSchema);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->identity.incarnation, Incarnation(1));
  EXPECT_EQ(check->identity.store.value().size(), 36U);
  EXPECT_EQ(connection->timeline(), 1U);
  EXPECT_EQ(CheckConnection(*Connect(database.dsn()), kCheckedSchema)->identity, check->identity);
}

TEST(ConnectionCheck, RefusesDatabaseWithoutSchema) {
  const TestDatabase database(Contents::kNothing);
  EXPECT_THAT(UnavailableText(CheckConnection(*Connect(database.dsn()), kCheckedSchema).status()),
              HasSubstr("run holdfastd migrate"));
}

TEST(ConnectionCheck, RefusesRoleWithAsynchronousCommit) {
  const TestDatabase database(Contents::kNothing);
  Migrated(database.dsn());
  const std::string with = database.dsn() + " options='-c synchronous_commit=";
  EXPECT_THAT(UnavailableText(CheckConnection(*Connect(with + "off'"), kCheckedSchema).status()),
              HasSubstr("synchronous_commit is off"));
  EXPECT_TRUE(CheckConnection(*Connect(with + "local'"), kCheckedSchema).ok());
}

TEST(ConnectionCheck, WarnsOfSettingsThatMayLoseWrites) {
  OwnPostgres safe({"fsync=on", "synchronous_standby_names=*"});
  safe.Start();
  Migrated(safe.dsn() + " options='-c synchronous_commit=local'");
  EXPECT_THAT(CheckConnection(*Connect(safe.dsn()), kCheckedSchema)->warnings, IsEmpty());
  const std::string local = safe.dsn() + " options='-c synchronous_commit=local'";
  EXPECT_THAT(CheckConnection(*Connect(local), kCheckedSchema)->warnings,
              ElementsAre(HasSubstr("synchronous_commit is local")));
  OwnPostgres unsafe({"fsync=off"});
  unsafe.Start();
  Migrated(unsafe.dsn());
  EXPECT_THAT(CheckConnection(*Connect(unsafe.dsn()), kCheckedSchema)->warnings,
              ElementsAre(HasSubstr("fsync"), HasSubstr("synchronous_standby_names is empty")));
}

TEST(ConnectionCheck, NeedsNoSpecialRights) {
  const TestDatabase database(Contents::kNothing);
  const auto owner = Migrated(database.dsn());
  const std::string role = database.name();
  ASSERT_EQ(owner->Script("CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA holdfast TO " +
                          role + "; GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO " + role),
            absl::OkStatus());
  const absl::Status status =
      CheckConnection(*Connect(database.dsn() + " user=" + role), kCheckedSchema).status();
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(owner->Script("DROP OWNED BY " + role + "; DROP ROLE " + role), absl::OkStatus());
}

TEST(ConnectionCheck, RefusesCopyInAnotherClusterUntilAdopted) {
  const TestDatabase database(Contents::kNothing);
  const auto connection = Migrated(database.dsn());
  const Identity before = CheckConnection(*connection, kCheckedSchema)->identity;
  ASSERT_EQ(
      connection->Script("UPDATE holdfast.store SET system_identifier = system_identifier + 1"),
      absl::OkStatus());
  EXPECT_THAT(UnavailableText(CheckConnection(*connection, kCheckedSchema).status()),
              HasSubstr("run: holdfastd store adopt"));
  const auto adopted = Adopt(*ConnectAdmin(database.dsn()), kCheckedSchema);
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  EXPECT_EQ(adopted->store, before.store);
  EXPECT_EQ(adopted->incarnation, Incarnation(2));
  EXPECT_EQ(CheckConnection(*connection, kCheckedSchema)->identity, *adopted);
  // An event of a transaction that this cluster has not reached would be new for ever.
  constexpr pg::Statement kAhead = {
      "ahead", "SELECT count(*) FROM holdfast.feed WHERE xid >= pg_current_xact_id()"};
  EXPECT_EQ(std::get<pg::Rows>(connection->Run(kAhead, pg::Params())).Int(0, 0), 0);
}

TEST(ConnectionCheck, RefusesOtherStoreOrIncarnation) {
  const TestDatabase one(Contents::kNothing);
  const TestDatabase two(Contents::kNothing);
  const auto connection = Migrated(one.dsn());
  const Identity first = CheckConnection(*connection, kCheckedSchema)->identity;
  const Identity other = CheckConnection(*Migrated(two.dsn()), kCheckedSchema)->identity;
  EXPECT_EQ(CheckSame(first, first), absl::OkStatus());
  EXPECT_THAT(UnavailableText(CheckSame(first, other)), HasSubstr("another store"));
  EXPECT_THAT(UnavailableText(CheckSame(first, *Adopt(*ConnectAdmin(one.dsn()), kCheckedSchema))),
              HasSubstr("restarted"));
}

// A standby of its own, made by a base backup.
class StandbyTest : public ::testing::Test {
 protected:
  StandbyTest() {
    primary_.Start();
    Migrated(primary_.dsn());
    standby_.CopyFrom(primary_);
    standby_.Start();
  }

  OwnPostgres primary_{{"fsync=off"}};
  OwnPostgres standby_{{"fsync=off"}};
};

TEST_F(StandbyTest, IsRefusedAndFoundAmongSeveralHosts) {
  EXPECT_THAT(UnavailableText(CheckConnection(*Connect(standby_.dsn()), kCheckedSchema).status()),
              HasSubstr("standby"));
  const std::string both = "host=" + standby_.directory() + "," + primary_.directory() +
                           " user=holdfast dbname=postgres";
  const auto connection = Connect(both);
  EXPECT_THAT(connection->Peer(), HasSubstr(primary_.directory()));
  EXPECT_EQ(CheckConnection(*connection, kCheckedSchema).status(), absl::OkStatus());
}

TEST_F(StandbyTest, APoolThatSawThePromotedOneLeavesTheOldPrimary) {
  pg::Pool pool({.connect = {.dsn = primary_.dsn()},
                 .check =
                     [](pg::Connection& connection) {
                       return CheckConnection(connection, kCheckedSchema).status();
                     }},
                SystemClock());
  const Identity before = CheckConnection(*Connect(primary_.dsn()), kCheckedSchema)->identity;
  ASSERT_TRUE(pool.Take(absl::Minutes(1)).ok());
  EXPECT_EQ(pool.newest_timeline(), 1U);
  ASSERT_EQ(Connect(standby_.dsn())->Script("SELECT pg_promote(true, 60)"), absl::OkStatus());
  const auto promoted = Connect(standby_.dsn());
  EXPECT_EQ(CheckConnection(*promoted, kCheckedSchema)->identity, before);
  EXPECT_EQ(promoted->timeline(), 2U);
  // As an answer of another connection would say.
  pool.SawTimeline(promoted->timeline());
  EXPECT_FALSE(pool.Take(absl::Minutes(1)).ok());
  EXPECT_EQ(pool.stats().open, 0U);
}

// The old primary is asked first, takes writes and knows nothing of what came after it.
TEST_F(StandbyTest, APoolFindsThePromotedOneBehindAnOldPrimary) {
  const std::string both = "host=" + primary_.directory() + "," + standby_.directory() +
                           " user=holdfast dbname=postgres";
  pg::Pool pool({.connect = {.dsn = both},
                 .size = 2,
                 .check =
                     [](pg::Connection& connection) {
                       return CheckConnection(connection, kCheckedSchema).status();
                     }},
                SystemClock());
  EXPECT_THAT((*pool.Take(absl::Minutes(1)))->Peer(), HasSubstr(primary_.directory()));
  primary_.Kill();
  ASSERT_EQ(Connect(standby_.dsn())->Script("SELECT pg_promote(true, 60)"), absl::OkStatus());
  EXPECT_THAT((*pool.Take(absl::Minutes(1)))->Peer(), HasSubstr(standby_.directory()));
  primary_.Start();
  EXPECT_THAT(Connect(both)->Peer(), HasSubstr(primary_.directory()));
  absl::StatusOr<pg::Pool::Lease> held = pool.Take(absl::Minutes(1));
  absl::StatusOr<pg::Pool::Lease> next = pool.Take(absl::Minutes(1));
  ASSERT_TRUE(held.ok() && next.ok()) << next.status();
  EXPECT_THAT((*next)->Peer(), HasSubstr(standby_.directory()));
  EXPECT_EQ((*next)->timeline(), 2U);
}

}  // namespace
}  // namespace holdfast::testing
