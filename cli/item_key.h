// Keys of items, which are any bytes, as text: on the command line and in what is printed.
#ifndef HOLDFAST_CLI_ITEM_KEY_H_
#define HOLDFAST_CLI_ITEM_KEY_H_

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace holdfast::cli {

// The key as it is where that is printable text (see Printable) which does not begin with `hex:`;
// else `hex:` and the bytes as lower-case hexadecimal digits. ParseKey takes either back.
std::string KeyText(const std::string& key);

// The key that `text` names: the bytes behind `hex:`, else the text itself. The error, whose
// message is for the user, is that no key is named or that the digits are none.
absl::StatusOr<std::string> ParseKey(const std::string& text);

// The key of an item that was put without one: its version in 8 bytes, the most significant first.
std::string KeyOfAppended(int64_t version);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_ITEM_KEY_H_
