#include "cli/app.h"

#include "cli/address.h"
#include "cli/completion.h"
#include "cli/file_stream.h"
#include "cli/health.h"
#include "cli/invocation.h"
#include "cli/replay/command.h"
#include "cli/session_commands.h"
#include "cli/store_commands.h"
#include "cli/version.h"

#include "CLI/CLI.hpp"

#include <cstdlib>
#include <map>
#include <string>

namespace holdfast::cli {
namespace {

constexpr char kAbout[] = "holdfast: looks after the sessions that a Holdfast server keeps.";

constexpr char kAddressVariable[] = "HOLDFAST_ADDRESS";

constexpr char kFooter[] = R"(Examples:
  holdfast health
  holdfast session list --project "$PWD" --newest-first
  holdfast session show 4f1c2d3e
  holdfast session tail 4f1c2d3e
  holdfast session resume --latest "$PWD"
  holdfast --output json session show 4f1c2d3e | jq .revision
  holdfast replay --parallel 8 --verify recordings.jsonl

Exit codes: 0 done, 1 refused (the reason is printed) or the output could not be written, 2 usage,
3 unreachable, not serving, or not a Holdfast server, 4 a difference or damage found.
With --output json a refusal is {reason, message, metadata}.)";

void AddGlobalOptions(CLI::App& app, Invocation& invocation) {
  static const std::map<std::string, Output> kOutputs = {{"table", Output::kTable},
                                                         {"json", Output::kJson}};
  app.add_option("--address", invocation.address, "The server, HOST:PORT or unix:PATH")
      ->type_name("ADDRESS")
      ->envname(kAddressVariable)
      ->check(CLI::Validator(AddressProblem, ""))
      ->capture_default_str();
  app.add_option("--output", invocation.output, "How results are written: table or json")
      ->type_name("FORMAT")
      ->transform(CLI::Transformer(kOutputs, CLI::ignore_case).description(""))
      ->default_str("table")
      ->check([](const std::string& text) {
        return text == "0" || text == "1" ? "" : "`" + text + "` is neither table nor json";
      });
}

// Options may stand before or behind the subcommand.
void LetOptionsStandAnywhere(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    command->fallthrough();
    LetOptionsStandAnywhere(*command);
  }
}

// An empty variable is the trace of a script that found no address: the default would be another
// server.
void RefuseEmptyVariable(const CLI::App& app) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing in the process writes to the environment
  const char* address = std::getenv(kAddressVariable);
  if (address == nullptr || *address != '\0' || app.count("--address") > 0) return;
  throw CLI::ValidationError(kAddressVariable,
                             "is set and empty: set it to an address, unset it, or say --address");
}

// The exit code of a command that ends with `code`, once its output is written.
int Finish(int code, const Invocation& invocation) {
  const std::string problem = FlushProblem(invocation.out);
  if (problem.empty()) return code;
  invocation.err << "holdfast: the output could not be written: " << problem << '\n';
  return kRefused;
}

}  // namespace

int Run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  Invocation invocation{.out = out, .err = err};
  CLI::App app(kAbout, "holdfast");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("holdfast ") + kVersion);
  AddGlobalOptions(app, invocation);
  AddSessionCommands(app, invocation);
  AddStoreCommands(app, invocation);
  AddReplayCommand(app, invocation);
  AddHealthCommand(app, invocation);
  AddCompletionCommand(app, invocation);
  LetOptionsStandAnywhere(app);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    if (!invocation.command) throw CLI::RequiredError("A command");
    RefuseEmptyVariable(app);
  } catch (const CLI::ParseError& error) {
    return Finish(app.exit(error, out, err) == 0 ? kDone : kUsage, invocation);
  }
  return Finish(invocation.command(), invocation);
}

}  // namespace holdfast::cli
