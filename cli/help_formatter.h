// How --help lays out options.
#ifndef HOLDFAST_CLI_HELP_FORMATTER_H_
#define HOLDFAST_CLI_HELP_FORMATTER_H_

#include "CLI/CLI.hpp"

#include <string>

namespace holdfast::cli {

// The library's layout, with the options that another one needs or excludes in the order of their
// names: the library keeps them by address, so that the text would differ from run to run.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_usage(const CLI::Option* option) const override;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_HELP_FORMATTER_H_
