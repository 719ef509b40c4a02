// A Bloom filter: says of a key that it is certainly not among those it was made of, or that it may
// be. Ten bits per key, so that about one absent key in a hundred may be.
#ifndef HOLDFAST_STORE_FS_KEY_FILTER_H_
#define HOLDFAST_STORE_FS_KEY_FILTER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::fs {

// The hash that filters are made of. Stored filters depend on it.
uint64_t HashOfKey(std::string_view key);

class KeyFilter {
 public:
  // A filter of no bytes may hold every key.
  KeyFilter() = default;
  // A stored one. Any bytes are a filter.
  explicit KeyFilter(std::string bytes) : bytes_(std::move(bytes)) {}
  // That of the keys with these hashes, of at most kRunFilterBytes.
  static KeyFilter Of(const std::vector<uint64_t>& hashes);

  [[nodiscard]] bool MayHold(uint64_t hash) const;
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace holdfast::fs

#endif  // HOLDFAST_STORE_FS_KEY_FILTER_H_
