// As tests/recovery/token_theft_test.cc, over PostgreSQL.
#include "tests/support/token_theft.h"

#include "tests/support/postgres_store.h"
#include "tests/support/server_process.h"

#include "gtest/gtest.h"

namespace holdfast::testing {
namespace {

TEST(PgTokenTheft, NothingThatIsReadYieldsATokenOrWrites) {
  const test::StoreDatabase database(test::WhoseStore::kCommon);
  const TestFolder folder;
  ServerProcess server(folder, {.dsn = database.dsn()});
  ASSERT_TRUE(server.Start()) << server.Log();
  ExpectNoTokenIsStolen(server.address());
}

}  // namespace
}  // namespace holdfast::testing
