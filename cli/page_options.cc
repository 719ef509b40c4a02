#include "cli/page_options.h"

#include "cli/durations.h"

#include "CLI/CLI.hpp"

namespace holdfast::cli {

void AddAfter(CLI::App& command, PageOptions& options, const std::string& numbers) {
  AddCount(command, "--after", options.after, "Begin behind the item of this " + numbers);
}

void AddPageOptions(CLI::App& command, PageOptions& options) {
  AddCount(command, "--limit", options.limit, "Print at most N items; 0 prints all")
      ->default_str("0");
  command
      .add_option("--page-token", options.token,
                  "Continue a list that --limit cut: its token, with the same other options")
      ->type_name("TOKEN");
}

void WriteNextPage(const Invocation& invocation, const std::string& token) {
  if (!token.empty()) WriteNote(invocation, "more items follow: --page-token " + token);
}

}  // namespace holdfast::cli
