// Fields of protobuf messages as bytes, also those that no generated class would write.
#ifndef HOLDFAST_TESTS_HOSTILE_WIRE_VALUE_H_
#define HOLDFAST_TESTS_HOSTILE_WIRE_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::hostile {

// `value` in seven bits a byte.
std::string Varint(uint64_t value);
// Field `number` with a number for its value.
std::string NumberField(int number, uint64_t value);
// Field `number` with `bytes` for its value: a string, bytes, a message or packed numbers.
std::string BytesField(int number, std::string_view bytes);
// Field `number` as four bytes, which no field of the API is.
std::string FixedField(int number);

}  // namespace holdfast::hostile

#endif  // HOLDFAST_TESTS_HOSTILE_WIRE_VALUE_H_
