// The tests of this area; or, called as `crowd ...`, the client that one of them pauses.
#include "tests/postgres/crowd.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == holdfast::testing::kCrowdWord) {
    return holdfast::testing::RunCrowd(words);
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
