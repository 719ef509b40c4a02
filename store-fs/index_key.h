// The parts of a key of the index, encoded so that the bytewise order of keys is the order of their
// parts.
#ifndef HOLDFAST_STORE_FS_INDEX_KEY_H_
#define HOLDFAST_STORE_FS_INDEX_KEY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::fs {

// What a number takes in a key.
inline constexpr size_t kKeyNumberBytes = 8;

// Adds a text, which may have any bytes, and its end.
void PutKeyText(std::string_view text, std::string& key);
// Adds a number, which takes kKeyNumberBytes.
void PutKeyNumber(uint64_t number, std::string& key);

// Takes a text that PutKeyText has added off the front of `key`; nullopt when there is none.
std::optional<std::string> TakeKeyText(std::string_view& key);
// The same of a number.
std::optional<uint64_t> TakeKeyNumber(std::string_view& key);

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_INDEX_KEY_H_
