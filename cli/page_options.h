// Which part of a list is wanted.
#ifndef HOLDFAST_CLI_PAGE_OPTIONS_H_
#define HOLDFAST_CLI_PAGE_OPTIONS_H_

#include "cli/cli11_names.h"
#include "cli/invocation.h"

#include <cstdint>
#include <string>

namespace holdfast::cli {

struct PageOptions {
  uint64_t after = 0;  // of a list whose items are numbered
  uint64_t limit = 0;  // 0: all
  std::string token;
};

// Adds --after. `numbers`: what the items are numbered by. `options` must live until the command
// line is parsed.
void AddAfter(CLI::App& command, PageOptions& options, const std::string& numbers);

// Adds --limit and --page-token, likewise.
void AddPageOptions(CLI::App& command, PageOptions& options);

// Notes how a list that was cut goes on; nothing at its end, where `token` is empty.
void WriteNextPage(const Invocation& invocation, const std::string& token);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_PAGE_OPTIONS_H_
