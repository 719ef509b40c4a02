#include "cli/app.h"

#include "cli/address.h"
#include "cli/completion.h"
#include "cli/file_stream.h"
#include "cli/health.h"
#include "cli/help_formatter.h"
#include "cli/invocation.h"
#include "cli/items_commands.h"
#include "cli/json.h"
#include "cli/replay/command.h"
#include "cli/session_commands.h"
#include "cli/store_commands.h"
#include "platform/option_arguments.h"

#include "CLI/CLI.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>

namespace holdfast::cli {
namespace {

constexpr char kAbout[] = "holdfast: command line client of a Holdfast server.";

constexpr char kAddressVariable[] = "HOLDFAST_ADDRESS";

constexpr char kExamples[] = R"(Examples:
  holdfast health
  holdfast session list --project "$PWD" --newest-first
  holdfast session show 4f1c2d3e
  holdfast session messages 4f1c2d3e --tail 10
  holdfast session tail 4f1c2d3e
  holdfast session resume --latest "$PWD"
  holdfast --output json session show 4f1c2d3e | jq -r .revision
  holdfast items list 4f1c2d3e --collection notes
  holdfast replay --parallel 8 --verify recordings.jsonl

Output: `table` is text for people. `json` is one document; a list is one reply that holds the items
of all pages. `jsonl` is one object per line. Replies have the JSON mapping of proto3 with the field
names of the protos: 64-bit numbers and bytes (base64) are strings. A call that is refused prints
{reason, message, metadata}; a list that fails after its first page has it in the member `error`.

Environment: HOLDFAST_ADDRESS is the default of --address. NO_COLOR, set and not empty, turns colour
off unless --color always is given.

Exit codes: 0 done; 1 the server refused the call (the reason is printed), or the output could not
be written; 2 wrong usage; 3 the server cannot be reached, does not serve, or is not a Holdfast
server; 4 a difference or damage was found.)";

// Adds an option that takes one of the names in `choices`.
template <typename Value>
CLI::Option* AddChoice(CLI::App& app, const std::string& name, Value& target,
                       const std::map<std::string, Value>& choices) {
  const auto take = [name, &target, choices](const std::string& text) {
    const auto found = choices.find(text);
    if (found != choices.end()) {
      target = found->second;
      return;
    }
    std::string names;
    for (const auto& [choice, value] : choices) names += (names.empty() ? "" : ", ") + choice;
    throw CLI::ValidationError(name, "`" + text + "` is not one of: " + names);
  };
  return app.add_option_function<std::string>(name, take);
}

void AddGlobalOptions(CLI::App& app, Invocation& invocation) {
  app.add_option("--address", invocation.address, "Address of the server: HOST:PORT or unix:PATH")
      ->type_name("ADDRESS")
      ->envname(kAddressVariable)
      ->check(CLI::Validator(AddressProblem, ""))
      ->capture_default_str();
  AddChoice<Output>(
      app, "--output", invocation.output,
      {{"table", Output::kTable}, {"json", Output::kJson}, {"jsonl", Output::kJsonLines}})
      ->type_name("FORMAT")
      ->description("Output format: table, json, or jsonl")
      ->default_str("table");
  AddChoice<ColorChoice>(app, "--color", invocation.color,
                         {{"auto", ColorChoice::kAuto},
                          {"always", ColorChoice::kAlways},
                          {"never", ColorChoice::kNever}})
      ->type_name("WHEN")
      ->description("Colour: auto (only on a terminal), always, or never")
      ->default_str("auto");
  app.add_flag("--quiet", invocation.quiet,
               "Print only data and errors: no progress, notes or summaries");
}

// Options may stand before or behind the subcommand.
void LetOptionsStandAnywhere(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    command->fallthrough();
    LetOptionsStandAnywhere(*command);
  }
}

void AddEverything(CLI::App& app, Invocation& invocation, const std::string& version) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kExamples);
  app.set_version_flag("--version", "holdfast " + version)
      ->description("Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  AddGlobalOptions(app, invocation);
  AddSessionCommands(app, invocation);
  AddItemsCommands(app, invocation);
  AddStoreCommands(app, invocation);
  AddReplayCommand(app, invocation);
  AddHealthCommand(app, invocation);
  AddCompletionCommand(app, invocation);
  LetOptionsStandAnywhere(app);
}

// `above`: the words that name what `command` is below.
void CollectHelp(const CLI::App& command, const std::string& above,
                 std::vector<CommandHelp>& collected) {
  const std::string name = above.empty() ? command.get_name() : above + " " + command.get_name();
  collected.push_back({.command = name, .text = command.help(above)});
  for (const CLI::App* below : command.get_subcommands({})) CollectHelp(*below, name, collected);
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

ExitCode RunCommand(const Invocation& invocation) {
  try {
    return invocation.command();
  } catch (const UnprintableReply& reply) {
    invocation.err << "holdfast: the reply has no form in JSON: " << reply.what()
                   << "; use --output table\n";
    return kRefused;
  }
}

// The exit code of a command that ends with `code`, once its output is written.
int Finish(int code, const Invocation& invocation) {
  const std::string problem = FlushProblem(invocation.out);
  if (problem.empty()) return code;
  invocation.err << "holdfast: the output could not be written: " << problem << '\n';
  return kRefused;
}

}  // namespace

int Run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
        const Terminal& terminal, const std::string& version) {
  Invocation invocation{.out = out, .err = err, .terminal = terminal};
  CLI::App app(kAbout, "holdfast");
  AddEverything(app, invocation, version);
  try {
    if (const auto name = FindOptionWithoutValue(arguments)) {
      throw CLI::ValidationError(*name, "needs a value");
    }
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    if (!invocation.command) throw CLI::RequiredError("A command");
    RefuseEmptyVariable(app);
  } catch (const CLI::ParseError& error) {
    return Finish(app.exit(error, out, err) == 0 ? kDone : kUsage, invocation);
  }
  return Finish(RunCommand(invocation), invocation);
}

std::vector<CommandHelp> AllHelp() {
  std::ostringstream unused;
  Invocation invocation{.out = unused, .err = unused};
  CLI::App app(kAbout, "holdfast");
  AddEverything(app, invocation, kVersion);
  std::vector<CommandHelp> collected;
  CollectHelp(app, "", collected);
  return collected;
}

}  // namespace holdfast::cli
