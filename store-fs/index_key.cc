#include "store-fs/index_key.h"

namespace holdfast::fs {
namespace {

// A zero in a text is followed by kMore, its end is a zero and kEnd. So a text precedes those that
// it is the beginning of.
constexpr char kZero = '\0';
constexpr char kEnd = '\x01';
constexpr char kMore = '\xff';
constexpr int kByteBits = 8;

}  // namespace

void PutKeyText(std::string_view text, std::string& key) {
  for (const char c : text) {
    key.push_back(c);
    if (c == kZero) key.push_back(kMore);
  }
  key.push_back(kZero);
  key.push_back(kEnd);
}

void PutKeyNumber(uint64_t number, std::string& key) {
  for (size_t byte = kKeyNumberBytes; byte > 0; --byte) {
    key.push_back(static_cast<char>(number >> ((byte - 1) * kByteBits)));
  }
}

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
  uint64_t number = 0;
  for (const char c : key.substr(0, kKeyNumberBytes)) {
    number = number << kByteBits | static_cast<uint8_t>(c);
  }
  key.remove_prefix(kKeyNumberBytes);
  return number;
}

}  // namespace holdfast::fs
