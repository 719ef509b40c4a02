#include "session/secret_reference.h"

#include "session/limits.h"

#include <algorithm>
#include <array>
#include <vector>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"env", "keyring", "file"};
constexpr std::string_view kBlank = " \t\r\n";

bool IsKind(std::string_view text) { return std::ranges::find(kKinds, text) != kKinds.end(); }

bool IsTextWithoutName(std::string_view content) {
  return content.ends_with(':') && IsKind(content.substr(0, content.size() - 1));
}

// Walks JSON with a stack and without a tree. It need not refuse everything that is not JSON: what
// is not balanced, or nested deeper than anybody nests, holds no reference.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::optional<size_t> FirstMalformed() {
    while (at_ < text_.size()) {
      if (!Step()) return std::nullopt;
    }
    return open_.empty() ? found_ : std::nullopt;
  }

 private:
  // An object or list that is not closed yet.
  struct Open {
    bool object = false;
    size_t begin = 0;
    bool at_key = false;
    std::string_view key;
    bool kind = false;   // is one of a reference
    bool named = false;  // has a name that is a text and not empty
    bool other = false;  // has another key, or a kind that is none
  };

  // Takes one token; false when the text is not JSON.
  bool Step() {
    const char c = text_[at_];
    switch (c) {
      case '{':
      case '[':
        return Enter(c == '{');
      case '}':
      case ']':
        return Leave(c == '}');
      case ',':
        if (open_.empty()) return false;
        open_.back().at_key = open_.back().object;
        break;
      case ':':
        if (open_.empty() || !open_.back().object) return false;
        open_.back().at_key = false;
        break;
      case '"':
        return TakeText();
      default:
        if (kBlank.find(c) == std::string_view::npos) Value("", false);
    }
    ++at_;
    return true;
  }

  bool Enter(bool object) {
    Value("", false);
    if (open_.size() == kReferenceDepth) return false;
    open_.push_back({.object = object, .begin = at_++, .at_key = object});
    return true;
  }

  bool Leave(bool object) {
    if (open_.empty() || open_.back().object != object) return false;
    const Open& closed = open_.back();
    if (closed.kind && !closed.named && !closed.other && !found_) found_ = closed.begin;
    open_.pop_back();
    ++at_;
    return true;
  }

  bool TakeText() {
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return false;
    const std::string_view text = text_.substr(begin, at_++ - begin);
    if (!open_.empty() && open_.back().at_key) {
      open_.back().key = text;
    } else {
      Value(text, true);
    }
    return true;
  }

  // The value of the key that was read last; a number may come in several pieces.
  void Value(std::string_view text, bool is_text) {
    if (open_.empty() || !open_.back().object) return;
    Open& object = open_.back();
    if (object.key == "name") {
      object.named = is_text && !text.empty();
    } else if (object.key == "kind" && is_text && IsKind(text)) {
      object.kind = true;
    } else {
      object.other = true;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Open> open_;
  std::optional<size_t> found_;
};

}  // namespace

std::optional<size_t> FindMalformedReference(std::string_view content) {
  if (IsTextWithoutName(content)) return 0;
  if (content.find("\"kind\"") == std::string_view::npos) return std::nullopt;
  return Walk(content).FirstMalformed();
}

}  // namespace holdfast
