// The clock for people stepped while no server runs, over files: the next one serves by a store
// that counts its own time.
#include "tests/support/stepped_clock.h"

#include "gtest/gtest.h"

namespace holdfast::testing {
namespace {

class SteppedClock : public ::testing::TestWithParam<int> {};

TEST_P(SteppedClock, NoRetryActsTwiceAndNoLeaseEndsEarly) {
  const TestFolder folder;
  ServerProcess server(folder);
  ExpectTheStepChangesNothing(server, folder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(By, SteppedClock, ::testing::ValuesIn(StepsInDays()), NameOfStep);

}  // namespace
}  // namespace holdfast::testing
