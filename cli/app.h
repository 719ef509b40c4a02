// The command line as a function, so that tests can call it.
#ifndef HOLDFAST_CLI_APP_H_
#define HOLDFAST_CLI_APP_H_

#include "cli/terminal.h"
#include "holdfast/version.h"

#include <ostream>
#include <string>
#include <vector>

namespace holdfast::cli {

// Runs the command that `arguments` (without the program's name) ask for. Results go to `out`,
// which is shown by `terminal`; everything else to `err`. --version prints `version`. Returns the
// exit code; see cli/exit_code.h.
int Run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
        const Terminal& terminal = {}, const std::string& version = kVersion);

struct CommandHelp {
  std::string command;  // for example "holdfast session list"
  std::string text;
};

// What --help prints of the program and of every command below it.
std::vector<CommandHelp> AllHelp();

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_APP_H_
