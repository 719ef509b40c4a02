#include "session/ids.h"

#include "session/limits.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

#include <algorithm>
#include <cstddef>

namespace holdfast {
namespace {

bool IsPlain(std::string_view text, size_t most) {
  return !text.empty() && text.size() <= most && std::ranges::all_of(text, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
}

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool IsDash(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

}  // namespace

bool TenantTag::Valid(std::string_view text) {
  return IsPlain(text, kTenantIdBytes) && text != "." && text != "..";
}
std::string_view TenantTag::Why() { return "must be 1 to 64 of A-Z a-z 0-9 . _ -"; }

bool SessionTag::Valid(std::string_view text) {
  return IsPlain(text, kSessionIdBytes) && text != "." && text != "..";
}
std::string_view SessionTag::Why() {
  return "must be 1 to 128 of A-Z a-z 0-9 . _ - and neither . nor ..";
}

bool UuidTag::Valid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (IsDash(at) ? text[at] != '-' : !IsLowerHex(text[at])) return false;
  }
  return true;
}
std::string_view UuidTag::Why() {
  return "must be a UUID: 8-4-4-4-12 lower-case hexadecimal digits";
}

std::string UuidText(std::string_view bytes16, int version) {
  std::string bytes(bytes16.substr(0, 16));
  bytes.resize(16, '\0');
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | (version << 4));
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  std::string text = absl::BytesToHexString(bytes);
  for (const size_t at : {8, 13, 18, 23}) text.insert(at, 1, '-');
  return text;
}

std::string UuidBytes(std::string_view text) {
  if (!UuidTag::Valid(text)) return "";
  std::string hex;
  for (const char c : text) {
    if (c != '-') hex += c;
  }
  return absl::HexStringToBytes(hex);
}

}  // namespace holdfast
