// The command line `holdfast`.
#include "cli/app.h"
#include "cli/file_stream.h"

#include <iostream>
#include <ostream>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  holdfast::cli::FileBuffer buffer(STDOUT_FILENO);
  std::ostream out(&buffer);
  return holdfast::cli::Run(arguments, out, std::cerr);
}
