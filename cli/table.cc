#include "cli/table.h"

#include <algorithm>
#include <cstddef>

namespace holdfast::cli {
namespace {

constexpr size_t kGap = 2;

// Bytes of UTF-8 that continue a character take no column of their own.
size_t Columns(std::string_view text) {
  constexpr unsigned kContinuationMask = 0xC0;
  constexpr unsigned kContinuation = 0x80;
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & kContinuationMask) != kContinuation;
  }));
}

std::vector<size_t> Widths(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  return widths;
}

}  // namespace

std::string Printable(std::string_view text) {
  constexpr unsigned char kDelete = 0x7F;
  constexpr unsigned char kSecondSetLead = 0xC2;  // U+0080 to U+009F are control characters too
  constexpr unsigned char kSecondSetEnd = 0xA0;
  std::string printable(text);
  unsigned char before = 0;
  for (char& c : printable) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte == kDelete) c = ' ';
    if (before == kSecondSetLead && byte < kSecondSetEnd) {
      *(&c - 1) = ' ';
      c = ' ';
    }
    before = byte;
  }
  return printable;
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
