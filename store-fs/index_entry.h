// An entry of a session's sorted index: a key and a small value, or a key that is deleted. Keys are
// ordered bytewise (docs/formats.md).
#ifndef HOLDFAST_STORE_FS_INDEX_ENTRY_H_
#define HOLDFAST_STORE_FS_INDEX_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::fs {

struct IndexEntry {
  std::string key;
  std::optional<std::string> value;  // absent: the key is deleted

  bool operator==(const IndexEntry&) const = default;
};

// The order in which entries are read.
enum class Direction : uint8_t { kAscending, kDescending };

// Keys from `from` on that are less than `to`; an empty `to` has no end.
struct KeyRange {
  std::string from;
  std::string to;

  [[nodiscard]] bool EndsBefore(std::string_view key) const { return !to.empty() && key >= to; }
  [[nodiscard]] bool Contains(std::string_view key) const {
    return key >= from && !EndsBefore(key);
  }
};

// The part of a key that a filter holds. A space may give its keys a suffix of fixed length, which
// says which version of something an entry is; the filter leaves it out. No part of a space may be
// the beginning of another one, so that parts have the order of keys.
inline std::string_view FilterPart(std::string_view key, size_t suffix) {
  return key.substr(0, key.size() < suffix ? 0 : key.size() - suffix);
}

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_INDEX_ENTRY_H_
