// The command line `holdfast`.
#include "cli/app.h"

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return holdfast::cli::Run(arguments, std::cout, std::cerr);
}
