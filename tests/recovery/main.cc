// The tests of this area; or, called as `holder ...`, the client that some of them pause and kill.
#include "tests/recovery/holder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == holdfast::testing::kHolderWord) {
    return holdfast::testing::RunHolder(words);
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
