// References to secrets inside content: how a session names a secret without holding it.
#ifndef HOLDFAST_SESSION_SECRETS_SECRET_REFERENCE_H_
#define HOLDFAST_SESSION_SECRETS_SECRET_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// A reference is an object {"kind": "env" | "keyring" | "file", "name": TEXT} in JSON,
// or a whole text `env:NAME`, `keyring:NAME`, `file:NAME`. It is malformed
// when the name is missing, empty or no text. An object with other keys beside these two is no
// reference, and bytes that are not JSON hold none.
//
// The offset of the first malformed reference in `content`, or nullopt. Costs one pass over the
// bytes, and a look for the word where it is not there.
std::optional<size_t> FindMalformedReference(std::string_view content);

// Looks through content that arrives piece by piece, as FindMalformedReference does. Walks JSON
// with a stack and without a tree, and keeps a few bytes for each level. It need not refuse
// everything that is not JSON: what is not balanced, or nested deeper than anybody nests, holds no
// reference.
//
//   ReferenceStream stream;
//   stream.Feed(chunk);
//   if (const auto offset = stream.End()) return MalformedReference("data", *offset);
//
// For one thread.
class ReferenceStream final {
 public:
  void Feed(std::string_view piece);
  // The offset of the first malformed reference in everything that was fed, or nullopt.
  [[nodiscard]] std::optional<uint64_t> End() const;

 private:
  // The beginning of a text, as far as it takes to know the words that matter here.
  class Word {
   public:
    void Add(std::string_view bytes);
    [[nodiscard]] std::string_view text() const { return text_; }

   private:
    std::string text_;
  };

  // An object or list that is not closed yet.
  struct Open {
    bool object = false;
    uint64_t begin = 0;
    bool at_key = false;
    Word key;
    bool kind = false;   // is one of a reference
    bool named = false;  // has a name that is a text and not empty
    bool other = false;  // has another key, or a kind that is none
  };

  // Takes the next token, or what is there of it, of `piece` at `at`; false when it is not JSON.
  bool Step(std::string_view piece, size_t& at);
  bool Enter(bool object, uint64_t offset);
  bool Leave(bool object);
  void TakeText(std::string_view piece, size_t& at);
  void EndText();
  // The value of the key that was read last; a number may come in several pieces.
  void Value(std::string_view text, bool is_text);

  uint64_t fed_ = 0;
  Word whole_;
  bool json_ = true;
  bool in_text_ = false;
  bool escaped_ = false;  // the next byte of the text is literal
  Word text_;
  std::vector<Open> open_;
  std::optional<uint64_t> found_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SECRETS_SECRET_REFERENCE_H_
