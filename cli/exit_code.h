// How a command ends, for scripts to decide by.
#ifndef HOLDFAST_CLI_EXIT_CODE_H_
#define HOLDFAST_CLI_EXIT_CODE_H_

namespace holdfast::cli {

enum ExitCode : int {
  kDone = 0,
  kRefused = 1,
  kUsage = 2,
  kUnreachable = 3,  // or not serving just now
  kDifference = 4,   // or damage
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_EXIT_CODE_H_
