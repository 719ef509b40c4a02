// Numbers of PostgreSQL's catalog and of its binary format, which never change.
#ifndef HOLDFAST_STORE_POSTGRES_PG_WIRE_TYPES_H_
#define HOLDFAST_STORE_POSTGRES_PG_WIRE_TYPES_H_

#include "absl/time/civil_time.h"
#include "absl/time/time.h"

#include <cstdint>

namespace holdfast::pg {

inline constexpr uint32_t kBool = 16;
inline constexpr uint32_t kBytea = 17;
inline constexpr uint32_t kInt8 = 20;
inline constexpr uint32_t kInt4 = 23;
inline constexpr uint32_t kText = 25;
inline constexpr uint32_t kTimestamptz = 1184;
inline constexpr uint32_t kInterval = 1186;

struct ArrayType {
  uint32_t array;
  uint32_t element;
};
inline constexpr ArrayType kBoolArray = {1000, kBool};
inline constexpr ArrayType kByteaArray = {1001, kBytea};
inline constexpr ArrayType kInt4Array = {1007, kInt4};
inline constexpr ArrayType kTextArray = {1009, kText};
inline constexpr ArrayType kInt8Array = {1016, kInt8};

// Where PostgreSQL's time begins; it counts microseconds from there.
inline absl::Time Epoch() {
  return absl::FromCivil(absl::CivilDay(2000, 1, 1), absl::UTCTimeZone());
}

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_WIRE_TYPES_H_
