// The command line as a test calls it, with a server of the test's own.
#ifndef HOLDFAST_TESTS_CLI_COMMAND_LINE_H_
#define HOLDFAST_TESTS_CLI_COMMAND_LINE_H_

#include "cli/app.h"
#include "cli/exit_code.h"
#include "cli/file_stream.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <cstdint>
#include <fcntl.h>
#include <ostream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace holdfast::cli {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

// A number of 64 bits, which JSON gives as a string.
inline uint64_t Number(const nlohmann::json& text) { return std::stoull(text.get<std::string>()); }

class CommandLine : public ::testing::Test {
 protected:
  // Where the server serves.
  [[nodiscard]] virtual const std::string& address() const = 0;

  Ran Holdfast(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", address()});
    std::ostringstream out;
    std::ostringstream err;
    const int code = cli::Run(arguments, out, err);
    return {.code = code, .out = out.str(), .err = err.str()};
  }

  // The same with an output that takes no byte.
  Ran HoldfastIntoAFullDisk(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", address()});
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    FileBuffer buffer(full);
    std::ostream out(&buffer);
    std::ostringstream err;
    const int code = cli::Run(arguments, out, err);
    close(full);
    return {.code = code, .out = "", .err = err.str()};
  }

  // The reply of a command that must succeed.
  nlohmann::json Json(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--output", "json"});
    const Ran ran = Holdfast(arguments);
    EXPECT_EQ(ran.code, kDone) << ran.out;
    return nlohmann::json::parse(ran.out);
  }

  // The objects that a command, which must succeed, prints as lines.
  std::vector<nlohmann::json> JsonLines(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--output", "jsonl"});
    const Ran ran = Holdfast(arguments);
    EXPECT_EQ(ran.code, kDone) << ran.out << ran.err;
    std::istringstream lines(ran.out);
    std::vector<nlohmann::json> objects;
    for (std::string line; std::getline(lines, line);) {
      objects.push_back(nlohmann::json::parse(line));
    }
    return objects;
  }

  // The reason why a command was refused, and that it exits so.
  std::string Reason(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--output", "json"});
    const Ran ran = Holdfast(arguments);
    EXPECT_EQ(ran.code, kRefused) << ran.out;
    return nlohmann::json::parse(ran.out).value("reason", "none");
  }
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_TESTS_CLI_COMMAND_LINE_H_
