#include "tests/support/postgres_store.h"

#include "store-postgres/admin/migrate.h"
#include "store-postgres/postgres_store.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <gtest/gtest.h>

#include <iostream>
#include <utility>
#include <variant>

namespace holdfast::test {

using holdfast::testing::Contents;

StoreDatabase::StoreDatabase(WhoseStore whose, const std::string& directory)
    : database_(whose == WhoseStore::kCommon ? Contents::kStore : Contents::kNothing, directory),
      connection_(holdfast::testing::Connect(database_.dsn())) {
  if (whose == WhoseStore::kCommon) return;
  EXPECT_EQ(pg::Migrate(*holdfast::testing::ConnectAdmin(dsn())).status(), absl::OkStatus());
}

std::unique_ptr<SessionStore> StoreDatabase::Make(const Clock& clock, Random& random,
                                                  std::shared_ptr<const pg::Tap> tap) {
  pg::PostgresOptions options;
  options.connect.dsn = dsn();
  options.connect.tap = std::move(tap);
  options.retention = retention_;
  options.item_bounds = item_bounds_;
  options.report = [](const std::string& why) { std::cerr << "postgres: " << why << '\n'; };
  return pg::MakePostgresStore(options, clock, random);
}

void StoreDatabase::StopClock() {
  Run("ALTER TABLE holdfast_test.clock"
      " ADD stopped_at timestamptz NOT NULL DEFAULT clock_timestamp();"
      "CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS timestamptz LANGUAGE sql VOLATILE"
      " AS 'SELECT stopped_at + ahead FROM holdfast_test.clock'");
}

void StoreDatabase::Run(const std::string& sql) {
  EXPECT_EQ(connection_->Script(sql), absl::OkStatus());
}

std::string StoreDatabase::AskText(const std::string& sql) {
  // A connection remembers what it has prepared by its name.
  const auto connection = holdfast::testing::Connect(dsn());
  const pg::Answer answer = connection->Run({.name = "", .sql = sql.c_str()}, pg::Params());
  const auto* const rows = std::get_if<pg::Rows>(&answer);
  const bool one = rows != nullptr && rows->size() == 1 && !rows->IsNull(0, 0);
  EXPECT_TRUE(one) << sql;
  return one ? std::string(rows->Text(0, 0)) : "";
}

void StoreDatabase::BreakWrites() {
  Run("CREATE FUNCTION holdfast.test_break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL;"
      " END $$;"
      "CREATE CONSTRAINT TRIGGER test_break AFTER INSERT OR UPDATE ON holdfast.session"
      " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION holdfast.test_break();"
      "CREATE CONSTRAINT TRIGGER test_break AFTER INSERT OR UPDATE ON holdfast.probe"
      " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION holdfast.test_break()");
}

void StoreDatabase::MendWrites() {
  Run("DROP TRIGGER test_break ON holdfast.session; DROP TRIGGER test_break ON holdfast.probe;"
      "DROP FUNCTION holdfast.test_break()");
}

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

}  // namespace holdfast::test
