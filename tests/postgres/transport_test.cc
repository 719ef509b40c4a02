// Warnings of a store whose database is not verified.
#include "store-postgres/postgres_store.h"
#include "tests/postgres/store_fixture.h"

#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class PgTransport : public PostgresStoreTest {
 protected:
  std::vector<std::string> WarningsAt(const std::string& dsn) {
    const auto store = pg::MakePostgresStore({.connect = {.dsn = dsn}}, clock(), random());
    EXPECT_EQ(store->Init(), absl::OkStatus());
    std::vector<std::string> warnings = store->Describe().warnings;
    store->Dispose();
    return warnings;
  }
};

TEST_F(PgTransport, WarnsOfUnverifiedDatabaseOnAnotherMachine) {
  constexpr char kWarning[] = "is not verified";
  EXPECT_THAT(WarningsAt(database().dsn()), Not(Contains(HasSubstr(kWarning))));
  // The second host is not asked while the first one takes writes.
  const std::string both =
      absl::StrReplaceAll(database().dsn(), {{"' user=", ",db.invalid' user="}});
  ASSERT_NE(both, database().dsn());
  EXPECT_THAT(WarningsAt(both), Contains(HasSubstr(kWarning)));
  EXPECT_THAT(WarningsAt(both), Not(Contains(HasSubstr("db.invalid"))));
}

}  // namespace
}  // namespace holdfast::test
