#include "server/utf8.h"

#include <cstddef>
#include <cstdint>

namespace holdfast {
namespace {

// How many bytes the character at the front takes, and the bits that its first byte has of it.
struct Utf8Lead {
  size_t bytes = 0;  // 0: no character begins like this
  uint32_t bits = 0;
  uint32_t least = 0;  // the first character that needs so many bytes
};

Utf8Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {.bytes = 1, .bits = byte, .least = 0};
  if ((byte & 0xE0) == 0xC0) return {.bytes = 2, .bits = byte & 0x1FU, .least = 0x80};
  if ((byte & 0xF0) == 0xE0) return {.bytes = 3, .bits = byte & 0x0FU, .least = 0x800};
  if ((byte & 0xF8) == 0xF0) return {.bytes = 4, .bits = byte & 0x07U, .least = 0x10000};
  return {};
}

// Characters as Unicode has them: no halves of pairs, and none of those that never are one, which
// YAML cannot write.
bool IsCharacter(uint32_t code) {
  const bool half = code >= 0xD800 && code <= 0xDFFF;
  const bool never = (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
  return code <= 0x10FFFF && !half && !never;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Lead lead = LeadOf(static_cast<uint8_t>(text.front()));
    if (lead.bytes == 0 || lead.bytes > text.size()) return false;
    uint32_t code = lead.bits;
    for (size_t i = 1; i < lead.bytes; ++i) {
      const auto next = static_cast<uint8_t>(text[i]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3FU);
    }
    if (code < lead.least || !IsCharacter(code)) return false;
    text.remove_prefix(lead.bytes);
  }
  return true;
}

}  // namespace holdfast
