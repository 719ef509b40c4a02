// A server whose machine's clock is stepped between two runs over the same store.
#ifndef HOLDFAST_TESTS_SUPPORT_STEPPED_CLOCK_H_
#define HOLDFAST_TESTS_SUPPORT_STEPPED_CLOCK_H_

#include "tests/support/server_process.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace holdfast::testing {

// Runs `server`, which has not been started and whose store is empty, by the right clock, then by
// one that is `days` off, then by the right one again. Expects that each repeated request is
// answered from its stored reply and has had one effect, and that leases that were granted before
// and after the step live for their time.
void ExpectTheStepChangesNothing(ServerProcess& server, const TestFolder& folder, int days);

// From before there were files to after every retention.
inline const std::vector<int>& StepsInDays() {
  static const std::vector<int> kSteps = {-20'000, -1, 2, 400};
  return kSteps;
}
inline std::string NameOfStep(const ::testing::TestParamInfo<int>& info) {
  return (info.param < 0 ? "Back" : "Ahead") + std::to_string(std::abs(info.param)) + "Days";
}

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SUPPORT_STEPPED_CLOCK_H_
