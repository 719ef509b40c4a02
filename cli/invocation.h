// One run of the command line: what the global options said, where output goes, and what to do.
#ifndef HOLDFAST_CLI_INVOCATION_H_
#define HOLDFAST_CLI_INVOCATION_H_

#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/exit_code.h"
#include "cli/retry.h"
#include "cli/terminal.h"

#include "grpcpp/support/status.h"
#include "nlohmann/json.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace holdfast::cli {

// kJson: one document in all. kJsonLines: one object on each line.
enum class Output : uint8_t { kTable, kJson, kJsonLines };

struct Invocation {
  std::ostream& out;
  std::ostream& err;
  Terminal terminal;  // behind `out`
  std::string address = "127.0.0.1:7420";
  Output output = Output::kTable;
  ColorChoice color = ColorChoice::kAuto;
  // Only data and errors are written.
  bool quiet = false;
  // Set by the subcommand that was chosen; runs after the whole command line was understood.
  std::function<ExitCode()> command;

  // In either form.
  [[nodiscard]] bool json() const { return output != Output::kTable; }
  [[nodiscard]] Painter painter() const { return Painter(UsesColor(color, terminal)); }
};

// Writes `object` to `out`, as one document or as one line.
void WriteJson(const Invocation& invocation, const nlohmann::ordered_json& object);

// Writes a line to `err` that is neither data nor an error, behind what was written to `out`.
// Nothing with --quiet, nor with --output json, whose document has a field for it.
void WriteNote(const Invocation& invocation, std::string_view note);

// What `status`, which is not OK, says, with the address where it names the server.
Failure FailureOf(const Invocation& invocation, const grpc::Status& status);

// Says why the command failed: a line on `err`, or with JSON the object on `out`, so that `out`
// always holds exactly one document. Returns how to exit.
ExitCode Refuse(const Invocation& invocation, const Failure& failure);
ExitCode Refuse(const Invocation& invocation, const grpc::Status& status);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_INVOCATION_H_
