#include "store-postgres/pg/rows.h"

#include "platform/big_endian.h"
#include "store-postgres/pg/wire_types.h"

#include "absl/strings/str_cat.h"

#include <cstdio>
#include <cstdlib>
#include <libpq-fe.h>
#include <limits>
#include <string>

namespace holdfast::pg {
namespace {

[[noreturn]] void Mistake(size_t row, size_t column, const char* what) {
  // Through C's stream, which a server has as lines of its log.
  const std::string text =
      absl::StrCat("row ", row, ", column ", column, " of a result ", what, "\n");
  std::fputs(text.c_str(), stderr);
  std::abort();
}

}  // namespace

Rows::Rows(pg_result* result)
    : result_(result), size_(static_cast<size_t>(PQntuples(result_.get()))) {}

void Rows::Clear::operator()(pg_result* result) const { PQclear(result); }

bool Rows::IsNull(size_t row, size_t column) const {
  if (row >= size_) Mistake(row, column, "is not there");
  return PQgetisnull(result_.get(), static_cast<int>(row), static_cast<int>(column)) != 0;
}

int64_t Rows::Int(size_t row, size_t column) const {
  return static_cast<int64_t>(BigEndian<uint64_t>(Value(row, column, kInt8)));
}

int32_t Rows::Int4(size_t row, size_t column) const {
  return static_cast<int32_t>(BigEndian<uint32_t>(Value(row, column, kInt4)));
}

bool Rows::Bool(size_t row, size_t column) const {
  return Value(row, column, kBool).front() != '\0';
}

std::string_view Rows::Text(size_t row, size_t column) const { return Value(row, column, kText); }

std::string_view Rows::Bytes(size_t row, size_t column) const { return Value(row, column, kBytea); }

absl::Time Rows::Time(size_t row, size_t column) const {
  const auto value = static_cast<int64_t>(BigEndian<uint64_t>(Value(row, column, kTimestamptz)));
  if (value == std::numeric_limits<int64_t>::max()) return absl::InfiniteFuture();
  if (value == std::numeric_limits<int64_t>::min()) return absl::InfinitePast();
  return Epoch() + absl::Microseconds(value);
}

absl::Duration Rows::Interval(size_t row, size_t column) const {
  constexpr int64_t kDaysOfMonth = 30;
  const std::string_view value = Value(row, column, kInterval);
  const auto micros = static_cast<int64_t>(BigEndian<uint64_t>(value));
  const auto days = static_cast<int32_t>(BigEndian<uint32_t>(value.substr(8)));
  const auto months = static_cast<int32_t>(BigEndian<uint32_t>(value.substr(12)));
  return absl::Microseconds(micros) + absl::Hours(24) * (days + kDaysOfMonth * months);
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): a column of another type ends the process
std::string_view Rows::Value(size_t row, size_t column, uint32_t type) const {
  if (IsNull(row, column)) Mistake(row, column, "is null, or there is no such column");
  const int at = static_cast<int>(column);
  // A fixed type's length is the server's promise for its number.
  if (PQftype(result_.get(), at) != type) Mistake(row, column, "is of another type");
  if (PQfformat(result_.get(), at) != 1) Mistake(row, column, "is not binary");
  return {PQgetvalue(result_.get(), static_cast<int>(row), at),
          static_cast<size_t>(PQgetlength(result_.get(), static_cast<int>(row), at))};
}

}  // namespace holdfast::pg
