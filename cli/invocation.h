// One run of the command line: what the global options said, where output goes, and what to do.
#ifndef HOLDFAST_CLI_INVOCATION_H_
#define HOLDFAST_CLI_INVOCATION_H_

#include "cli/connection.h"
#include "cli/exit_code.h"
#include "cli/retry.h"

#include "grpcpp/support/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace holdfast::cli {

enum class Output : uint8_t { kTable, kJson };

struct Invocation {
  std::ostream& out;
  std::ostream& err;
  std::string address = "127.0.0.1:7420";
  Output output = Output::kTable;
  // Set by the subcommand that was chosen; runs after the whole command line was understood.
  std::function<ExitCode()> command;

  [[nodiscard]] bool json() const { return output == Output::kJson; }
};

// Says why the command failed: a line on `err`, or with JSON the object on `out`, so that `out`
// always holds exactly one document. Returns how to exit.
ExitCode Refuse(const Invocation& invocation, const grpc::Status& status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_INVOCATION_H_
