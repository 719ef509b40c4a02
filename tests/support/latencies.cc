#include "tests/support/latencies.h"

#include "gtest/gtest.h"

namespace holdfast::testing {
namespace {

constexpr int kTries = 3;

bool IsAtMostDoubled(const UnderLoad& own, const UnderLoad& elsewhere) {
  return own.loaded <= 2 * std::max(own.calm, elsewhere.loaded);
}

}  // namespace

void ExpectAtMostDoubled(absl::FunctionRef<UnderLoad()> elsewhere,
                         absl::FunctionRef<UnderLoad()> own) {
  UnderLoad beside_other;
  UnderLoad beside_own;
  int tries = 0;
  do {
    beside_other = elsewhere();
    beside_own = own();
  } while (++tries < kTries && !::testing::Test::HasFailure() &&
           !IsAtMostDoubled(beside_own, beside_other));
  EXPECT_TRUE(IsAtMostDoubled(beside_own, beside_other))
      << beside_own.loaded << " under the load, " << beside_own.calm << " before it, "
      << beside_other.loaded << " under that of another server, " << tries << " times";
}

}  // namespace holdfast::testing
