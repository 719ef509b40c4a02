// Bytes that a command takes from a file or from standard input.
#ifndef HOLDFAST_CLI_INPUT_FILE_H_
#define HOLDFAST_CLI_INPUT_FILE_H_

#include "absl/status/statusor.h"

#include <cstddef>
#include <string>

namespace holdfast::cli {

// What is read at most. The server takes less in one call, and refuses what is more.
inline constexpr std::size_t kMostInputBytes = 16 * std::size_t{1024} * 1024;

// All bytes of the file `path`, or of standard input where it is `-`. The error, whose message is
// for the user, is that it cannot be read, or has more than kMostInputBytes. Blocks.
absl::StatusOr<std::string> ReadInput(const std::string& path);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_INPUT_FILE_H_
