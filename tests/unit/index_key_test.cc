// Keys of the index: their bytewise order is that of their parts, and they are read back.
#include "store-fs/index_key.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

std::string KeyOf(std::string_view text, uint64_t number) {
  std::string key;
  fs::PutKeyText(text, key);
  fs::PutKeyNumber(number, key);
  return key;
}

TEST(IndexKey, HasTheOrderOfItsPartsAndIsReadBack) {
  using std::string_literals::operator""s;
  const std::vector<std::string> texts = {"",     "\0"s, "\0\0"s, "\0a"s,  "\1",   "a",
                                          "a\0"s, "a\1", "ab",    "a\xff", "\xff", "\xff\xff"};
  std::vector<std::pair<std::string, uint64_t>> parts;
  for (const std::string& text : texts) {
    for (const uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{256}, ~uint64_t{0}}) {
      parts.emplace_back(text, number);
    }
  }
  for (const auto& one : parts) {
    const std::string key = KeyOf(one.first, one.second);
    for (const auto& other : parts) {
      EXPECT_EQ(key < KeyOf(other.first, other.second), one < other);
    }
    std::string_view rest = key;
    EXPECT_EQ(fs::TakeKeyText(rest), one.first);
    EXPECT_EQ(fs::TakeKeyNumber(rest), one.second);
    EXPECT_TRUE(rest.empty());
  }
}

TEST(IndexKey, ThatIsCutIsNotRead) {
  const std::string key = KeyOf("owner", 7);
  for (size_t size = 0; size < key.size(); ++size) {
    std::string_view rest = std::string_view(key).substr(0, size);
    const bool has_text = fs::TakeKeyText(rest).has_value();
    EXPECT_EQ(has_text, size >= key.size() - fs::kKeyNumberBytes) << size;
    EXPECT_FALSE(has_text && fs::TakeKeyNumber(rest)) << size;
  }
}

}  // namespace
}  // namespace holdfast::test
