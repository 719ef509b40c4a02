// References to secrets inside content: how a session names a secret without holding it.
#ifndef HOLDFAST_SESSION_SECRET_REFERENCE_H_
#define HOLDFAST_SESSION_SECRET_REFERENCE_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace holdfast {

// A reference is an object {"kind": "env" | "keyring" | "file", "name": TEXT} in JSON (systems.md
// A1, SecretReference), or a whole text `env:NAME`, `keyring:NAME`, `file:NAME`. It is malformed
// when the name is missing, empty or no text. An object with other keys beside these two is no
// reference, and bytes that are not JSON hold none.
//
// The offset of the first malformed reference in `content`, or nullopt. Costs one pass over the
// bytes, and a look for the word where it is not there.
std::optional<size_t> FindMalformedReference(std::string_view content);

}  // namespace holdfast

#endif  // HOLDFAST_SESSION_SECRET_REFERENCE_H_
