// Text of unknown origin for a terminal: how wide it is, where its lines break, and nothing in it
// that controls the terminal.
#ifndef HOLDFAST_CLI_TEXT_H_
#define HOLDFAST_CLI_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// `text` with an escape for every character that controls a terminal, that reorders or hides the
// text beside it, or that is no UTF-8: `\n`, `\x1B`, `\u202E`, `\xFF`. A backslash is not escaped.
std::string Printable(std::string_view text);

// True when `text` is UTF-8 without control characters other than tab, newline and carriage return.
bool IsPlainText(std::string_view text);

// The terminal columns of `text`, which is printable: two for a wide character, none for one that
// combines with the character before. Without the locale C.UTF-8 every character takes one.
std::size_t Columns(std::string_view text);

// The first `columns` columns of `text`, which is printable; the last of them is `…` where it was
// cut.
std::string Cut(std::string_view text, std::size_t columns);

// The printable lines of `text`, each at most `width` columns wide. Breaks at newlines, at spaces,
// and in a word that is wider than a line: behind a comma, else anywhere. Keeps indentation; a tab
// reaches to the next multiple of four columns. Newlines at the end are dropped. `width` is at
// least 2.
std::vector<std::string> Wrap(std::string_view text, std::size_t width);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_TEXT_H_
