// As tests/recovery/stepped_clock_test.cc, over PostgreSQL, whose clock stays as it is.
#include "tests/support/stepped_clock.h"

#include "tests/support/postgres.h"

#include "gtest/gtest.h"

namespace holdfast::testing {
namespace {

class PgSteppedClock : public ::testing::TestWithParam<int> {};

TEST_P(PgSteppedClock, NoRetryActsTwiceAndNoLeaseEndsEarly) {
  const TestDatabase database(Contents::kNothing);
  ASSERT_TRUE(pg::Migrate(*ConnectAdmin(database.dsn())).ok());
  const TestFolder folder;
  ServerProcess server(folder, {.dsn = database.dsn()});
  ExpectTheStepChangesNothing(server, folder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(By, PgSteppedClock, ::testing::ValuesIn(StepsInDays()), NameOfStep);

}  // namespace
}  // namespace holdfast::testing
