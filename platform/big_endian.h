// Unsigned integers as bytes with the highest one first, in which the bytewise order is that of the
// numbers: in keys, and in PostgreSQL's binary format.
#ifndef HOLDFAST_PLATFORM_BIG_ENDIAN_H_
#define HOLDFAST_PLATFORM_BIG_ENDIAN_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {

template <typename T>
void AppendBigEndian(T value, std::string& out) {
  for (size_t left = sizeof(T); left > 0; --left) {
    out.push_back(static_cast<char>((value >> (8 * (left - 1))) & 0xFF));
  }
}

// `bytes` has at least as many as T.
template <typename T>
T BigEndian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>((value << 8) | static_cast<unsigned char>(bytes[i]));
  }
  return value;
}

}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_BIG_ENDIAN_H_
