#include "cli/item_key.h"

#include "cli/text.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <string_view>

namespace holdfast::cli {
namespace {

constexpr std::string_view kHexMark = "hex:";

bool IsHexDigit(char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); }

}  // namespace

std::string KeyText(const std::string& key) {
  if (!key.starts_with(kHexMark) && Printable(key) == key) return key;
  return std::string(kHexMark) + absl::BytesToHexString(key);
}

absl::StatusOr<std::string> ParseKey(const std::string& text) {
  if (text.empty()) return absl::InvalidArgumentError("an empty text names no key");
  if (!text.starts_with(kHexMark)) return text;
  const std::string digits = text.substr(kHexMark.size());
  if (digits.empty() || digits.size() % 2 != 0 || !std::ranges::all_of(digits, IsHexDigit)) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", text, "` is no key: hex: needs two hexadecimal digits for each byte"));
  }
  return absl::HexStringToBytes(digits);
}

std::string KeyOfAppended(int64_t version) {
  constexpr unsigned kBitsOfByte = 8;
  constexpr unsigned kByteMask = 0xFF;
  std::string key(sizeof(version), '\0');
  auto rest = static_cast<uint64_t>(version);
  for (auto byte = key.rbegin(); byte != key.rend(); ++byte) {
    *byte = static_cast<char>(rest & kByteMask);
    rest >>= kBitsOfByte;
  }
  return key;
}

}  // namespace holdfast::cli
