#include "tests/support/postgres_store.h"

#include "store-postgres/postgres_store.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <variant>

namespace holdfast::test {
namespace {

std::string Schema(const std::string& name) {
  const std::ifstream file("store-postgres/schema/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

StoreDatabase::StoreDatabase(const std::string& directory)
    : database_(directory), connection_(holdfast::testing::Connect(database_.dsn())) {
  for (const char* name : {"0001_tables.sql", "0002_functions.sql"}) Run(Schema(name));
}

std::unique_ptr<SessionStore> StoreDatabase::Make(const Clock& clock, Random& random) {
  pg::PostgresOptions options;
  options.pool.connect.dsn = dsn();
  options.pool.report = [](const std::string& why) { std::cerr << "postgres: " << why << '\n'; };
  return pg::MakePostgresStore(options, clock, random);
}

void StoreDatabase::StopClock() {
  Run("CREATE TABLE holdfast.test_clock AS SELECT clock_timestamp() AS at;"
      "CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS timestamptz LANGUAGE sql VOLATILE"
      " AS 'SELECT at FROM holdfast.test_clock'");
}

void StoreDatabase::Advance(absl::Duration passed) {
  Run(absl::StrCat("UPDATE holdfast.test_clock SET at = at + ", absl::ToInt64Microseconds(passed),
                   " * interval '1 microsecond'"));
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
