#include "store-fs/index_key.h"

#include "platform/big_endian.h"

namespace holdfast::fs {
namespace {

// A zero in a text is followed by kMore, its end is a zero and kEnd. So a text precedes those that
// it is the beginning of.
constexpr char kZero = '\0';
constexpr char kEnd = '\x01';
constexpr char kMore = '\xff';
static_assert(kKeyNumberBytes == sizeof(uint64_t));

}  // namespace

void PutKeyText(std::string_view text, std::string& key) {
  for (const char c : text) {
    key.push_back(c);
    if (c == kZero) key.push_back(kMore);
  }
  key.push_back(kZero);
  key.push_back(kEnd);
}

void PutKeyNumber(uint64_t number, std::string& key) { AppendBigEndian(number, key); }

std::optional<std::string> TakeKeyText(std::string_view& key) {
  std::string text;
  while (key.size() >= 2) {
    const char c = key.front();
    key.remove_prefix(1);
    if (c == kZero) {
      const char mark = key.front();
      key.remove_prefix(1);
      if (mark == kEnd) return text;
      if (mark != kMore) return std::nullopt;
    }
    text.push_back(c);
  }
  return std::nullopt;
}

std::optional<uint64_t> TakeKeyNumber(std::string_view& key) {
  if (key.size() < kKeyNumberBytes) return std::nullopt;
  const auto number = BigEndian<uint64_t>(key);
  key.remove_prefix(kKeyNumberBytes);
  return number;
}

}  // namespace holdfast::fs
