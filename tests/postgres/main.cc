// The tests of this area; or, called as `crowd ...`, the client that one of them pauses, and called
// as `verifier ...`, the process that checks a record.
#include "tests/postgres/crowd.h"
#include "tests/postgres/verifier.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == holdfast::testing::kCrowdWord) {
    return holdfast::testing::RunCrowd(words);
  }
  if (!words.empty() && words[0] == holdfast::testing::kVerifierWord) {
    return holdfast::testing::RunVerifier(words);
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
