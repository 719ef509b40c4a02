// The command line as a function, so that tests can call it.
#ifndef HOLDFAST_CLI_APP_H_
#define HOLDFAST_CLI_APP_H_

#include <ostream>
#include <string>
#include <vector>

namespace holdfast::cli {

// Runs the command that `arguments` (without the program's name) ask for. Results go to `out`,
// everything else to `err`. Returns the exit code; see cli/exit_code.h.
int Run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_APP_H_
