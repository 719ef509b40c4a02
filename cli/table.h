// Text for a terminal: columns that line up, and nothing that could steer the terminal.
#ifndef HOLDFAST_CLI_TABLE_H_
#define HOLDFAST_CLI_TABLE_H_

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// `text` with every control character replaced by a space: what others have stored must not move
// the cursor or pass for another line.
std::string Printable(std::string_view text);

using Row = std::vector<std::string>;

// Writes `rows` with columns as wide as their widest cell; the last column is not padded.
void WriteTable(std::ostream& out, const std::vector<Row>& rows);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_TABLE_H_
