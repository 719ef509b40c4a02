// Text for a terminal: columns that line up, and nothing that could steer the terminal.
#ifndef HOLDFAST_CLI_TABLE_H_
#define HOLDFAST_CLI_TABLE_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// `text` with every control character replaced by a space, and those that reorder or hide what
// stands beside them written as `\u202E`: what others have stored must not move the cursor, pass
// for another line, or read as something else than it is.
std::string Printable(std::string_view text);

// The first `columns` characters of `text`, the last of them `…` where it was cut.
std::string Cut(std::string_view text, std::size_t columns);

using Row = std::vector<std::string>;

// Writes `rows` with columns as wide as their widest cell; the last column is not padded.
void WriteTable(std::ostream& out, const std::vector<Row>& rows);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_TABLE_H_
