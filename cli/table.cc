#include "cli/table.h"

#include "cli/text.h"

#include <algorithm>

namespace holdfast::cli {
namespace {

constexpr size_t kGap = 2;

std::vector<Row> AllPrintable(std::vector<Row> rows) {
  for (Row& row : rows) {
    for (std::string& cell : row) cell = Printable(cell);
  }
  return rows;
}

}  // namespace

void TableWriter::Write(const std::vector<Row>& rows) {
  const std::vector<Row> shown = AllPrintable(rows);
  for (const Row& row : shown) {
    widths_.resize(std::max(widths_.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], Columns(row[i]));
  }
  for (const Row& row : shown) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths_[i] - Columns(row[i]) + kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
  }
}

void WriteTable(std::ostream& out, const std::vector<Row>& rows) { TableWriter(out).Write(rows); }

}  // namespace holdfast::cli
