// Opaque texts that a client gets, keeps and returns: page tokens, cursors. A checksum detects
// damage and texts made up by hand; it is no proof against a forger, so a sealed text contains
// nothing secret or decisive.
#ifndef HOLDFAST_SERVER_RPC_CONVERT_SEALED_TEXT_H_
#define HOLDFAST_SERVER_RPC_CONVERT_SEALED_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

inline constexpr size_t kShortSumBytes = 8;

// The first kShortSumBytes of SHA-256.
std::string ShortSum(std::string_view bytes);

// `body` with its checksum, in letters that are safe everywhere.
std::string Seal(std::string_view body);

// The body of a text that Seal has made; nullopt for any other, also for another spelling of one.
std::optional<std::string> Unseal(const std::string& text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_CONVERT_SEALED_TEXT_H_
