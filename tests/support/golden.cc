#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace holdfast::test {

std::string ReadProjectFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void ExpectGolden(const std::string& name, const std::string& actual) {
  const std::string path = "tests/golden/" + name;
  if (std::getenv("HOLDFAST_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  EXPECT_EQ(ReadProjectFile(path), actual)
      << path << " differs; review, then set HOLDFAST_UPDATE_GOLDEN=1 and run this test again";
}

}  // namespace holdfast::test
