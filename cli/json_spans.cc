#include "cli/json_spans.h"

#include <cstddef>
#include <cstdint>

namespace holdfast::cli {
namespace {

// Deeper nesting is refused, because each level is a call.
constexpr int kDeepest = 256;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Reads one JSON text from left to right. Every method that reads something returns whether it was
// there.
class Scanner final {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void SkipSpace() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  bool AtEnd() {
    SkipSpace();
    return at_ == text_.size();
  }

  bool Take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  // One value with the space around it; `span` is its text without.
  bool Value(std::string_view& span) {
    SkipSpace();
    const size_t start = at_;
    if (!SkipValue()) return false;
    span = text_.substr(start, at_ - start);
    SkipSpace();
    return true;
  }

  // `open`, values separated by commas that `item` reads, `close`.
  template <typename Item>
  bool Items(char open, char close, Item item) {
    SkipSpace();
    if (!Take(open)) return false;
    SkipSpace();
    if (Take(close)) return true;
    do {
      if (!item()) return false;
    } while (Take(','));
    return Take(close);
  }

  // The texts of one member, the key's with its quotes.
  struct Pair {
    std::string_view key;
    std::string_view value;
  };

  // "key": value
  bool Member(Pair& pair) {
    SkipSpace();
    const size_t start = at_;
    if (!SkipString()) return false;
    pair.key = text_.substr(start, at_ - start);
    SkipSpace();
    return Take(':') && Value(pair.value);
  }

 private:
  bool SkipValue() {
    if (at_ >= text_.size() || ++depth_ > kDeepest) return false;
    const bool found = SkipValueHere();
    --depth_;
    return found;
  }

  bool SkipValueHere() {
    Pair pair;
    std::string_view value;
    switch (text_[at_]) {
      case '"':
        return SkipString();
      case '{':
        return Items('{', '}', [&] { return Member(pair); });
      case '[':
        return Items('[', ']', [&] { return Value(value); });
      case 't':
        return SkipWord("true");
      case 'f':
        return SkipWord("false");
      case 'n':
        return SkipWord("null");
      default:
        return SkipNumber();
    }
  }

  bool SkipWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool SkipString() {
    if (!Take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < ' ') return false;
      if (c == '\\' && !SkipEscape()) return false;
    }
    return false;
  }

  bool SkipEscape() {
    if (at_ >= text_.size()) return false;
    const char c = text_[at_++];
    if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    for (int digit = 0; digit < 4; ++digit, ++at_) {
      if (at_ >= text_.size() || !IsHex(text_[at_])) return false;
    }
    return true;
  }

  bool SkipDigits() {
    const size_t start = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ > start;
  }

  bool SkipNumber() {
    Take('-');
    if (!Take('0') && !SkipDigits()) return false;
    if (Take('.') && !SkipDigits()) return false;
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      return SkipDigits();
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

void AppendUtf8(uint32_t code, std::string& out) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

uint32_t FourHexDigits(std::string_view text) {
  return static_cast<uint32_t>(std::stoul(std::string(text.substr(0, 4)), nullptr, 16));
}

bool IsHighSurrogate(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLowSurrogate(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Decodes the escape behind a backslash at the front of `rest`, and moves `rest` past it.
void TakeEscape(std::string_view& rest, std::string& out) {
  constexpr uint32_t kReplacement = 0xFFFD;
  constexpr std::string_view kShort = "bfnrt";
  constexpr std::string_view kMeans = "\b\f\n\r\t";
  const char c = rest.front();
  rest.remove_prefix(1);
  if (c != 'u') {
    const size_t known = kShort.find(c);
    out += known == std::string_view::npos ? c : kMeans[known];
    return;
  }
  uint32_t code = FourHexDigits(rest);
  rest.remove_prefix(4);
  if (IsHighSurrogate(code) && rest.starts_with("\\u") &&
      IsLowSurrogate(FourHexDigits(rest.substr(2)))) {
    code = 0x10000 + ((code - 0xD800) << 10) + (FourHexDigits(rest.substr(2)) - 0xDC00);
    rest.remove_prefix(6);
  } else if (IsHighSurrogate(code) || IsLowSurrogate(code)) {
    code = kReplacement;
  }
  AppendUtf8(code, out);
}

}  // namespace

std::optional<std::string> StringOf(std::string_view text) {
  Scanner scanner(text);
  std::string_view span;
  if (text.empty() || text.front() != '"' || !scanner.Value(span) || !scanner.AtEnd()) {
    return std::nullopt;
  }
  std::string decoded;
  std::string_view rest = span.substr(1, span.size() - 2);
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '\\') {
      TakeEscape(rest, decoded);
    } else {
      decoded += c;
    }
  }
  return decoded;
}

std::optional<std::vector<JsonMember>> MembersOf(std::string_view text) {
  Scanner scanner(text);
  std::vector<JsonMember> members;
  const bool whole = scanner.Items('{', '}', [&] {
    Scanner::Pair pair;
    if (!scanner.Member(pair)) return false;
    members.push_back({.key = StringOf(pair.key).value_or(""), .value = pair.value});
    return true;
  });
  if (!whole || !scanner.AtEnd()) return std::nullopt;
  return members;
}

std::optional<std::vector<std::string_view>> ElementsOf(std::string_view text) {
  Scanner scanner(text);
  std::vector<std::string_view> elements;
  const bool whole = scanner.Items('[', ']', [&] {
    std::string_view element;
    if (!scanner.Value(element)) return false;
    elements.push_back(element);
    return true;
  });
  if (!whole || !scanner.AtEnd()) return std::nullopt;
  return elements;
}

std::optional<std::string_view> ValueOf(const std::vector<JsonMember>& members,
                                        std::string_view key) {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->key == key) return member->value;
  }
  return std::nullopt;
}

}  // namespace holdfast::cli
