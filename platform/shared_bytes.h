// Bytes that never change: copies share them, and the digest is worked out once. A message's data
// is held once, however many commands, changes and rows name it.
#ifndef HOLDFAST_PLATFORM_SHARED_BYTES_H_
#define HOLDFAST_PLATFORM_SHARED_BYTES_H_

#include "platform/digest.h"

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

// As safe for threads as a std::shared_ptr.
class SharedBytes {
 public:
  SharedBytes() = default;
  // NOLINTBEGIN(google-explicit-constructor,hicpp-explicit-conversions): as a std::string is
  // assigned and read.
  SharedBytes(std::string bytes);
  SharedBytes(std::string_view bytes) : SharedBytes(std::string(bytes)) {}
  SharedBytes(const char* text) : SharedBytes(std::string(text)) {}
  operator std::string_view() const { return str(); }
  // NOLINTEND(google-explicit-constructor,hicpp-explicit-conversions)

  // Valid as long as one copy of this is.
  [[nodiscard]] const std::string& str() const;
  [[nodiscard]] size_t size() const { return str().size(); }
  [[nodiscard]] bool empty() const { return block_ == nullptr; }
  // SHA-256 of them.
  [[nodiscard]] const Digest& digest() const;

  // Leaves this empty. Copies nothing where no other copy of this is left.
  [[nodiscard]] std::string Take();
  void clear() { block_.reset(); }

  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return a.block_ == b.block_ || a.str() == b.str();
  }
  template <typename Text>
  requires(std::convertible_to<const Text&, std::string_view> &&
           !std::same_as<Text, SharedBytes>) friend bool
  operator==(const SharedBytes& bytes, const Text& text) {
    return std::string_view(bytes) == std::string_view(text);
  }

 private:
  struct Block;

  std::shared_ptr<Block> block_;  // nullptr: no bytes
};

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_SHARED_BYTES_H_
