#include "cli/table.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::cli {
namespace {

constexpr size_t kGap = 2;

bool IsContinuation(char byte) {
  constexpr unsigned kContinuationMask = 0xC0;
  constexpr unsigned kContinuation = 0x80;
  return (static_cast<unsigned char>(byte) & kContinuationMask) == kContinuation;
}

// Bytes of UTF-8 that continue a character take no column of their own.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char byte) { return !IsContinuation(byte); }));
}

// Of the character at `at` of a text in UTF-8.
size_t CharacterBytes(std::string_view text, size_t at) {
  size_t bytes = 1;
  while (at + bytes < text.size() && IsContinuation(text[at + bytes])) ++bytes;
  return bytes;
}

uint32_t CodeOf(std::string_view character) {
  constexpr unsigned kContinuationBits = 6;
  constexpr unsigned kContinuationValue = 0x3F;
  const auto lead = static_cast<unsigned char>(character.front());
  // The lead of a character of n bytes has n ones and a zero before its bits.
  uint32_t code = character.size() == 1 ? lead : lead & (0x7FU >> character.size());
  for (const char byte : character.substr(1)) {
    code = code << kContinuationBits | (static_cast<unsigned char>(byte) & kContinuationValue);
  }
  return code;
}

bool IsControl(uint32_t code) {
  constexpr uint32_t kDelete = 0x7F;
  constexpr uint32_t kSecondSetEnd = 0xA0;  // U+0080 to U+009F are control characters too
  return code < ' ' || (code >= kDelete && code < kSecondSetEnd);
}

struct Range {
  uint32_t first;
  uint32_t last;
};

// Marks of direction, embeddings, isolates, characters without width, and separators of lines.
bool IsInvisible(uint32_t code) {
  constexpr std::array<Range, 6> kInvisible = {{{0x061C, 0x061C},
                                                {0x200B, 0x200F},
                                                {0x2028, 0x202E},
                                                {0x2060, 0x206F},
                                                {0xFEFF, 0xFEFF},
                                                {0xFFF9, 0xFFFB}}};
  return std::ranges::any_of(
      kInvisible, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

std::vector<size_t> Widths(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Columns(Printable(row[i])));
    }
  }
  return widths;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = CharacterBytes(text, at);
    const std::string_view character = text.substr(at, bytes);
    const uint32_t code = CodeOf(character);
    if (IsControl(code)) {
      printable.append(bytes, ' ');
    } else if (IsInvisible(code)) {
      printable += absl::StrFormat("\\u%04X", code);
    } else {
      printable += character;
    }
    at += bytes;
  }
  return printable;
}

std::string Cut(std::string_view text, size_t columns) {
  size_t end = 0;  // behind the characters that have room beside the mark
  size_t at = 0;
  for (size_t count = 0; at < text.size(); ++count) {
    if (count + 1 == columns) end = at;
    if (count == columns) return std::string(text.substr(0, end)) + "\u2026";
    at += CharacterBytes(text, at);
  }
  return std::string(text);
}

void WriteTable(std::ostream& out, const std::vector<Row>& rows) {
  const std::vector<size_t> widths = Widths(rows);
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = Printable(row[i]);
      line += cell;
      if (i + 1 < row.size()) line += std::string(widths[i] - Columns(cell) + kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

}  // namespace holdfast::cli
