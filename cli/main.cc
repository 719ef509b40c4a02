// The command line `holdfast`.
#include "cli/app.h"
#include "cli/file_stream.h"
#include "cli/terminal.h"
#include "holdfast/version.h"

#include <csignal>
#include <iostream>
#include <ostream>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char** argv) {
  // A closed pipe is then an error of the output, which has a cause and an exit code.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  holdfast::cli::FileBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  return holdfast::cli::Run(arguments, out, std::cerr,
                            holdfast::cli::DescribeTerminal(STDOUT_FILENO),
                            holdfast::BuildVersion());
}
