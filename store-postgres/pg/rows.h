// What a statement answered, in PostgreSQL's binary format. Columns are named by their index, from
// 0.
#ifndef HOLDFAST_STORE_POSTGRES_PG_ROWS_H_
#define HOLDFAST_STORE_POSTGRES_PG_ROWS_H_

#include "absl/time/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

struct pg_result;  // libpq's PGresult

namespace holdfast::pg {

// Owns the result; the views that it gives live as long. Any thread may read.
//
// A getter for another type than the column's, a null or a row that is not there is a mistake in
// the program and ends it: SQL and code are built together, and the schema's version is checked.
class Rows {
 public:
  // Takes the result over.
  explicit Rows(pg_result* result);
  Rows(Rows&&) = default;
  Rows& operator=(Rows&&) = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() = default;

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  [[nodiscard]] bool IsNull(size_t row, size_t column) const;
  [[nodiscard]] int64_t Int(size_t row, size_t column) const;             // bigint
  [[nodiscard]] int32_t Int4(size_t row, size_t column) const;            // integer
  [[nodiscard]] bool Bool(size_t row, size_t column) const;               // boolean
  [[nodiscard]] std::string_view Text(size_t row, size_t column) const;   // text
  [[nodiscard]] std::string_view Bytes(size_t row, size_t column) const;  // bytea
  [[nodiscard]] absl::Time Time(size_t row, size_t column) const;         // timestamptz
  // interval; a month counts 30 days and a day 24 hours, as PostgreSQL compares them
  [[nodiscard]] absl::Duration Interval(size_t row, size_t column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };

  // The bytes of a value that is there and of this type.
  [[nodiscard]] std::string_view Value(size_t row, size_t column, uint32_t type) const;

  std::unique_ptr<pg_result, Clear> result_;
  size_t size_;
};

}  // namespace holdfast::pg

#endif  // HOLDFAST_STORE_POSTGRES_PG_ROWS_H_
