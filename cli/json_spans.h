// Where the values of a JSON text stand in it: a recording's messages are kept byte for byte, and
// writing them anew would change spaces, escapes and the order of keys.
//
//   std::vector<JsonMember> members = *MembersOf(R"({"a": [1,  2]})");   // members[0].value is
//   "[1,  2]"
#ifndef HOLDFAST_CLI_JSON_SPANS_H_
#define HOLDFAST_CLI_JSON_SPANS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// One member of an object. The value's text is a part of the text it was found in.
struct JsonMember {
  std::string key;
  std::string_view value;
};

// The members of the object that is the whole of `text` (but for space around it), in order;
// nullopt when `text` is no JSON object. The grammar is checked; the content of strings is not, so
// that a recording with half a surrogate pair in it is kept as it is.
std::optional<std::vector<JsonMember>> MembersOf(std::string_view text);

// The elements of the array that is the whole of `text`; nullopt when it is no JSON array.
std::optional<std::vector<std::string_view>> ElementsOf(std::string_view text);

// The text that the JSON string `text` encodes; nullopt when it is no string. Half a surrogate
// pair becomes U+FFFD.
std::optional<std::string> StringOf(std::string_view text);

// The value of the last member named `key`; nullopt when there is none.
std::optional<std::string_view> ValueOf(const std::vector<JsonMember>& members,
                                        std::string_view key);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_JSON_SPANS_H_
