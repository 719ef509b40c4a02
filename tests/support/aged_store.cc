#include "tests/support/aged_store.h"

#include "store-fs/crc32c.h"
#include "tests/support/temp_dir.h"

#include "gtest/gtest.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace holdfast::testing {

void LetTimePass(const std::filesystem::path& root, absl::Duration time) {
  constexpr size_t kSlot = 64;
  constexpr size_t kSummed = 8;  // what is before it are the magic and the checksum of the rest
  constexpr size_t kTime = 56;
  const std::filesystem::path path = root / "watermarks";
  std::string bytes = test::ReadFile(path);
  ASSERT_GE(bytes.size(), kSlot);
  for (size_t at = 0; at + kSlot <= bytes.size(); at += kSlot) {
    int64_t recorded = 0;
    std::memcpy(&recorded, bytes.data() + at + kTime, sizeof recorded);
    recorded += absl::ToInt64Microseconds(time);
    std::memcpy(bytes.data() + at + kTime, &recorded, sizeof recorded);
    const uint32_t sum = fs::Crc32c(std::string_view(bytes).substr(at + kSummed, kSlot - kSummed));
    std::memcpy(bytes.data() + at + kSummed - sizeof sum, &sum, sizeof sum);
  }
  test::WriteFile(path, bytes);
}

}  // namespace holdfast::testing
