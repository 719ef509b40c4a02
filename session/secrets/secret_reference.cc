#include "session/secrets/secret_reference.h"

#include "session/limits.h"

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"env", "keyring", "file"};
constexpr std::string_view kBlank = " \t\r\n";
// One more than the longest word that matters, "keyring:", so that a longer one is none of them.
constexpr size_t kWordBytes = 9;

bool IsKind(std::string_view text) { return std::ranges::find(kKinds, text) != kKinds.end(); }

bool IsTextWithoutName(std::string_view content) {
  return content.ends_with(':') && IsKind(content.substr(0, content.size() - 1));
}

}  // namespace

void ReferenceStream::Word::Add(std::string_view bytes) {
  text_ += bytes.substr(0, kWordBytes - text_.size());
}

void ReferenceStream::Feed(std::string_view piece) {
  whole_.Add(piece);
  size_t at = 0;
  while (json_ && at < piece.size()) json_ = Step(piece, at);
  fed_ += piece.size();
}

std::optional<uint64_t> ReferenceStream::End() const {
  if (IsTextWithoutName(whole_.text())) return 0;
  return json_ && !in_text_ && open_.empty() ? found_ : std::nullopt;
}

bool ReferenceStream::Step(std::string_view piece, size_t& at) {
  if (in_text_) {
    TakeText(piece, at);
    return true;
  }
  const char c = piece[at++];
  switch (c) {
    case '{':
    case '[':
      return Enter(c == '{', fed_ + at - 1);
    case '}':
    case ']':
      return Leave(c == '}');
    case ',':
      if (open_.empty()) return false;
      open_.back().at_key = open_.back().object;
      return true;
    case ':':
      if (open_.empty() || !open_.back().object) return false;
      open_.back().at_key = false;
      return true;
    case '"':
      in_text_ = true;
      text_ = {};
      return true;
    default:
      if (kBlank.find(c) == std::string_view::npos) Value("", false);
      return true;
  }
}

bool ReferenceStream::Enter(bool object, uint64_t offset) {
  Value("", false);
  if (open_.size() == kReferenceDepth) return false;
  open_.push_back({.object = object, .begin = offset, .at_key = object, .key = {}});
  return true;
}

bool ReferenceStream::Leave(bool object) {
  if (open_.empty() || open_.back().object != object) return false;
  const Open& closed = open_.back();
  if (closed.kind && !closed.named && !closed.other && !found_) found_ = closed.begin;
  open_.pop_back();
  return true;
}

void ReferenceStream::TakeText(std::string_view piece, size_t& at) {
  if (escaped_) {
    escaped_ = false;
    text_.Add(piece.substr(at++, 1));
    return;
  }
  const size_t begin = at;
  while (at < piece.size() && piece[at] != '"' && piece[at] != '\\') ++at;
  text_.Add(piece.substr(begin, at - begin));
  if (at == piece.size()) return;
  if (piece[at++] == '"') {
    EndText();
  } else {
    text_.Add("\\");
    escaped_ = true;
  }
}

void ReferenceStream::EndText() {
  in_text_ = false;
  if (!open_.empty() && open_.back().at_key) {
    open_.back().key = text_;
  } else {
    Value(text_.text(), true);
  }
}

void ReferenceStream::Value(std::string_view text, bool is_text) {
  if (open_.empty() || !open_.back().object) return;
  Open& object = open_.back();
  if (object.key.text() == "name") {
    object.named = is_text && !text.empty();
  } else if (object.key.text() == "kind" && is_text && IsKind(text)) {
    object.kind = true;
  } else {
    object.other = true;
  }
}

std::optional<size_t> FindMalformedReference(std::string_view content) {
  if (!IsTextWithoutName(content) && content.find("\"kind\"") == std::string_view::npos) {
    return std::nullopt;
  }
  ReferenceStream stream;
  stream.Feed(content);
  return stream.End();
}

}  // namespace holdfast
