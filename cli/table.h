// Rows as columns that line up.
#ifndef HOLDFAST_CLI_TABLE_H_
#define HOLDFAST_CLI_TABLE_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

using Row = std::vector<std::string>;

// Writes a table part by part, in memory for one part. Each column is as wide as its widest cell so
// far; the last column is not padded. Cells are made printable. For one thread.
class TableWriter final {
 public:
  explicit TableWriter(std::ostream& out) : out_(out) {}

  void Write(const std::vector<Row>& rows);

 private:
  std::ostream& out_;
  std::vector<std::size_t> widths_;
};

// A table that begins with `heading`. For one thread.
class Rows final {
 public:
  Rows(std::ostream& out, Row heading) : writer_(out), rows_({std::move(heading)}) {}

  void Add(Row row) { rows_.push_back(std::move(row)); }
  // Writes the rows that were added since the last call.
  void Write() {
    writer_.Write(rows_);
    rows_.clear();
  }

 private:
  TableWriter writer_;
  std::vector<Row> rows_;
};

// Writes `rows` as one table.
void WriteTable(std::ostream& out, const std::vector<Row>& rows);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_TABLE_H_
