#include "tests/hostile/wire_value.h"

namespace holdfast::hostile {
namespace {

// The wire types of protobuf's encoding.
constexpr uint64_t kVarint = 0;
constexpr uint64_t kLengthDelimited = 2;
constexpr uint64_t kFixed32 = 5;

std::string Tag(int number, uint64_t type) {
  return Varint(static_cast<uint64_t>(number) << 3U | type);
}

}  // namespace

std::string Varint(uint64_t value) {
  std::string bytes;
  while (value >= 0x80) {
    bytes.push_back(static_cast<char>(value | 0x80U));
    value >>= 7U;
  }
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string NumberField(int number, uint64_t value) { return Tag(number, kVarint) + Varint(value); }

std::string BytesField(int number, std::string_view bytes) {
  std::string field = Tag(number, kLengthDelimited) + Varint(bytes.size());
  field.append(bytes);
  return field;
}

std::string FixedField(int number) { return Tag(number, kFixed32) + std::string(4, '\x7f'); }

}  // namespace holdfast::hostile
