// Bytes that are written from where they lie are on the disk what one copy of them would be.
#include "tests/support/pieces.h"

#include "store-fs/files.h"
#include "store-fs/frame.h"
#include "tests/support/temp_dir.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {
namespace {

using Generator = std::mt19937_64;

size_t Below(Generator& generator, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(generator);
}

// Runs of zeros and of other bytes, some of them longer than a sector.
std::string SomeBytes(Generator& generator) {
  std::string bytes;
  for (size_t runs = Below(generator, 12); runs > 0; --runs) {
    const char byte = Below(generator, 2) == 0 ? '\0' : static_cast<char>(Below(generator, 256));
    bytes.append(Below(generator, 3 * fs::kSectorBytes), byte);
  }
  return bytes;
}

// The same bytes, cut anywhere; some pieces are empty.
std::vector<std::string_view> CutAnywhere(std::string_view bytes, Generator& generator) {
  std::vector<std::string_view> pieces;
  while (!bytes.empty()) {
    pieces.push_back(bytes.substr(0, Below(generator, 2 * fs::kSectorBytes)));
    bytes.remove_prefix(pieces.back().size());
  }
  if (Below(generator, 2) == 0) pieces.emplace_back();
  return pieces;
}

TEST(Pieces, OfAFrameAreTheFrameOfTheWhole) {
  Generator generator(20'261'127);
  for (int round = 0; round < 2'000; ++round) {
    const std::string payload = SomeBytes(generator);
    const uint64_t offset = Below(generator, 100) * fs::kFrameAlign;
    const fs::FrameHead head{.type = fs::FrameType::kPlaced,
                             .salt = generator(),
                             .epoch = Epoch(3),
                             .revision = Revision(4),
                             .previous = 5};
    const auto whole = fs::EncodeFrame(head, payload, offset);
    ASSERT_TRUE(whole.ok());
    const fs::GatheredFrame gathered(head, CutAnywhere(payload, generator), offset);
    ASSERT_EQ(Joined(gathered.pieces()), whole->bytes) << "round " << round;
    EXPECT_EQ(gathered.size(), whole->bytes.size());
    EXPECT_EQ(gathered.checksum(), whole->checksum);
    const std::string file = std::string(offset, 'x') + whole->bytes;
    EXPECT_EQ(fs::ReadFrame(file, offset, std::nullopt).state, fs::FrameState::kValid);
  }
}

// More of them than one call of the system takes.
TEST(Pieces, AreWrittenOneBehindTheOther) {
  constexpr uint64_t kOffset = 100;
  Generator generator(20'261'127);
  const TempDir directory;
  const auto files = fs::OpenFiles(directory.path());
  ASSERT_TRUE(files.ok());
  std::vector<std::string> texts;
  for (int i = 0; i < 3'000; ++i) texts.emplace_back(Below(generator, 3), static_cast<char>(i));
  for (const size_t count : {0, 1, 2, 255, 256, 257, 3'000}) {
    const std::string name = absl::StrCat("of_", count);
    const std::vector<std::string_view> pieces(texts.begin(),
                                               texts.begin() + static_cast<ptrdiff_t>(count));
    const auto file = (*files)->Open(name, fs::OpenMode::kCreate);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->WritePieces(kOffset, pieces).ok());
    const std::string written = Joined(pieces);
    const std::string before(written.empty() ? 0 : kOffset, '\0');
    EXPECT_EQ(ReadFile(directory / name), before + written) << count;
  }
}

}  // namespace
}  // namespace holdfast::test
