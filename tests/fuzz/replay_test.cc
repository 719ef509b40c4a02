// Every seed through its target: what was found once stays found, without a fuzzer.
#include "tests/fuzz/targets.h"
#include "tests/support/golden.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace holdfast::fuzz {
namespace {

constexpr char kSeeds[] = "tests/fuzz/seeds/";

class Replay : public ::testing::TestWithParam<Target> {};

TEST_P(Replay, EverySeedPasses) {
  int seeds = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(kSeeds + std::string(GetParam().name))) {
    SCOPED_TRACE(entry.path().string());
    const std::string bytes = test::ReadProjectFile(entry.path());
    GetParam().run(bytes);
    // Cut short anywhere, and with any one bit turned, it is still only input.
    for (size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 64) {
      GetParam().run(std::string_view(bytes).substr(0, cut));
      std::string turned = bytes;
      turned[cut] = static_cast<char>(turned[cut] ^ (1 << (cut % 8)));
      GetParam().run(turned);
    }
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, ::testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

TEST(Seeds, AreWhatTheProjectWrites) {
  std::set<std::string> names;
  for (const Seed& seed : SeedsOfRealArtefacts()) {
    const std::string path = kSeeds + seed.target + "/" + seed.name + ".bin";
    EXPECT_TRUE(names.insert(path).second) << path;
    if (std::getenv("HOLDFAST_UPDATE_GOLDEN") != nullptr) {
      std::filesystem::create_directories(kSeeds + seed.target);
      std::ofstream(path, std::ios::binary) << seed.bytes;
    }
    EXPECT_TRUE(test::ReadProjectFile(path) == seed.bytes)
        << path << " differs; review, then set HOLDFAST_UPDATE_GOLDEN=1 and run this test again";
  }
}

// A target whose checks cannot fail finds nothing.
TEST(Targets, AnUnknownOneEndsTheProgram) {
  EXPECT_DEATH(fuzz::Run("nothing", ""), "no target has this name");
}

}  // namespace
}  // namespace holdfast::fuzz
