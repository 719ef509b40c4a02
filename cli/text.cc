#include "cli/text.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdint>
#include <cwchar>
#include <optional>

namespace holdfast::cli {
namespace {

constexpr size_t kTab = 4;
constexpr char kCutMark[] = "\u2026";

// Makes wcwidth know Unicode in this thread while it lives. Changes nothing where the system has no
// locale C.UTF-8.
class Utf8Locale final {
 public:
  Utf8Locale() : before_(uselocale(Unicode())) {}
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() { uselocale(before_); }

 private:
  // Made once and never freed: every thread may use it until the process ends.
  static locale_t Unicode() {
    static const locale_t kUnicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return kUnicode;
  }

  locale_t before_;
};

// One character of a text, or one byte that belongs to none.
struct Character {
  std::string_view bytes;
  std::optional<uint32_t> code;
};

bool IsContinuation(char byte) {
  constexpr unsigned kContinuationMask = 0xC0;
  constexpr unsigned kContinuation = 0x80;
  return (static_cast<unsigned char>(byte) & kContinuationMask) == kContinuation;
}

// What a character of this many bytes begins with, and the least code that needs so many.
struct Form {
  unsigned lead_mask;
  unsigned lead;
  uint32_t least;
};
constexpr std::array<Form, 4> kForms = {
    {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}}};

bool IsUnicode(uint32_t code) {
  constexpr uint32_t kSurrogates = 0xD800;
  constexpr uint32_t kBehindSurrogates = 0xE000;
  constexpr uint32_t kLast = 0x10FFFF;
  return code <= kLast && (code < kSurrogates || code >= kBehindSurrogates);
}

Character CharacterAt(std::string_view text, size_t at) {
  constexpr unsigned kContinuationBits = 6;
  constexpr unsigned kContinuationValue = 0x3F;
  const auto lead = static_cast<unsigned char>(text[at]);
  for (size_t size = 1; size <= kForms.size(); ++size) {
    const Form& form = kForms.at(size - 1);
    if ((lead & form.lead_mask) != form.lead) continue;
    const std::string_view bytes = text.substr(at, size);
    if (bytes.size() < size || !std::ranges::all_of(bytes.substr(1), IsContinuation)) break;
    uint32_t code = lead & ~form.lead_mask;
    for (const char byte : bytes.substr(1)) {
      code = code << kContinuationBits | (static_cast<unsigned char>(byte) & kContinuationValue);
    }
    if (code < form.least || !IsUnicode(code)) break;
    return {bytes, code};
  }
  return {text.substr(at, 1), std::nullopt};
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

// Marks of direction, embeddings, isolates, characters without width, separators of lines, and
// tags.
bool IsInvisible(uint32_t code) {
  constexpr std::array<Range, 8> kInvisible = {{{0x00AD, 0x00AD},
                                                {0x061C, 0x061C},
                                                {0x200B, 0x200F},
                                                {0x2028, 0x202E},
                                                {0x2060, 0x206F},
                                                {0xFEFF, 0xFEFF},
                                                {0xFFF9, 0xFFFB},
                                                {0xE0000, 0xE007F}}};
  return std::ranges::any_of(
      kInvisible, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string EscapeOf(uint32_t code) {
  constexpr uint32_t kLastOfOneByte = 0x7F;
  constexpr uint32_t kLastOfFourDigits = 0xFFFF;
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (code <= kLastOfOneByte) return absl::StrFormat("\\x%02X", code);
  return code <= kLastOfFourDigits ? absl::StrFormat("\\u%04X", code)
                                   : absl::StrFormat("\\U%08X", code);
}

std::string Shown(const Character& character) {
  if (!character.code) {
    return absl::StrFormat("\\x%02X", static_cast<unsigned char>(character.bytes.front()));
  }
  const uint32_t code = *character.code;
  return IsControl(code) || IsInvisible(code) ? EscapeOf(code) : std::string(character.bytes);
}

// Of a printable character. One that wcwidth does not know takes one column.
size_t ColumnsOf(const Character& character) {
  if (character.bytes.size() == 1) return 1;
  const int columns = wcwidth(static_cast<wchar_t>(*character.code));
  return columns < 0 ? 1 : static_cast<size_t>(columns);
}

// Fills lines of a paragraph word by word.
class LineFiller final {
 public:
  LineFiller(size_t width, std::vector<std::string>& lines) : width_(width), lines_(lines) {}

  // Adds `word`, which has no space, behind `gap` spaces. At the start of a line that is not the
  // paragraph's first the gap is dropped.
  void Add(size_t gap, std::string_view word) {
    const size_t columns = Columns(word);
    if (used_ + gap + columns > width_ && used_ > 0) {
      Break();
      gap = 0;
    }
    gap = std::min(gap, width_ - 2);  // an indentation leaves room for a wide character
    line_.append(gap, ' ');
    used_ += gap;
    for (size_t at = 0; at < word.size();) {
      const Character character = CharacterAt(word, at);
      const size_t wide = ColumnsOf(character);
      if (used_ + wide > width_) Break();
      line_ += character.bytes;
      used_ += wide;
      at += character.bytes.size();
    }
  }

  void Break() {
    lines_.push_back(std::move(line_));
    line_.clear();
    used_ = 0;
  }

 private:
  const size_t width_;
  std::vector<std::string>& lines_;
  std::string line_;
  size_t used_ = 0;
};

// A line with its tabs as spaces.
std::string WithoutTabs(std::string_view line) {
  std::string text;
  size_t columns = 0;
  for (size_t at = 0; at < line.size();) {
    const Character character = CharacterAt(line, at);
    const bool tab = character.code == static_cast<uint32_t>('\t');
    const std::string shown = tab ? std::string(kTab - columns % kTab, ' ') : Shown(character);
    columns += Columns(shown);
    text += shown;
    at += character.bytes.size();
  }
  return text;
}

// A word that is wider than a line breaks behind its commas first: JSON without spaces is one word.
void AddWord(size_t gap, std::string_view word, size_t width, LineFiller& filler) {
  if (Columns(word) <= width) return filler.Add(gap, word);
  while (!word.empty()) {
    const size_t end = std::min(word.find(','), word.size() - 1) + 1;
    filler.Add(gap, word.substr(0, end));
    word.remove_prefix(end);
    gap = 0;
  }
}

void WrapLine(std::string_view line, size_t width, std::vector<std::string>& lines) {
  const std::string text = WithoutTabs(line);
  LineFiller filler(width, lines);
  for (size_t at = 0; at < text.size();) {
    const size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    if (word == text.size()) break;  // spaces at the end
    const size_t end = std::min(text.find(' ', word), text.size());
    AddWord(word - at, std::string_view(text).substr(word, end - word), width, filler);
    at = end;
  }
  filler.Break();
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    printable += Shown(character);
    at += character.bytes.size();
  }
  return printable;
}

bool IsPlainText(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (!character.code) return false;
    const bool space =
        *character.code == '\n' || *character.code == '\r' || *character.code == '\t';
    if (IsControl(*character.code) && !space) return false;
    at += character.bytes.size();
  }
  return true;
}

size_t Columns(std::string_view text) {
  const Utf8Locale unicode;
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    columns += ColumnsOf(character);
    at += character.bytes.size();
  }
  return columns;
}

std::string Cut(std::string_view text, size_t columns) {
  const Utf8Locale unicode;
  size_t end = 0;  // behind the characters that have room beside the mark
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    used += ColumnsOf(character);
    if (used > columns) return std::string(text.substr(0, end)) + kCutMark;
    at += character.bytes.size();
    if (used < columns) end = at;
  }
  return std::string(text);
}

std::vector<std::string> Wrap(std::string_view text, size_t width) {
  const Utf8Locale unicode;
  std::vector<std::string> lines;
  text = text.substr(0, text.find_last_not_of("\r\n") + 1);
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    WrapLine(line, width, lines);
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
  return lines;
}

}  // namespace holdfast::cli
