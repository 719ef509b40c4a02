#include "server/flags.h"

#include "platform/option_arguments.h"
#include "server/config.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

using Action = Flags::Action;

constexpr char kProgram[] = "holdfastd";

constexpr char kAbout[] =
    "holdfastd: gRPC server that stores the sessions of agents durably.\n"
    "Without a command it serves in the foreground until SIGTERM or SIGINT.";

constexpr char kServeFooter[] =
    R"(Once it serves it prints one line with its address on standard output.
The log goes to standard error. After SIGTERM it refuses new calls and waits for the calls in
progress, at most for `server.drain_timeout` (default 30 s).

Exit status:
  0  it served and shut down, or printed what was requested
  1  the configuration or the start is refused (standard error says why), the store failed while it
     served, or the output could not be written
  2  wrong usage
)";

constexpr char kHealthcheckFooter[] =
    R"(The answer must arrive within 3 s. --address defaults to `server.address` of the
configuration; a server on all addresses is checked at the loopback address. With --address no
configuration is needed. --service defaults to the server as a whole, which serves while its store
is healthy and it does not drain.

Exit status:
  0  the server serves; with --service liveness: it makes progress
  1  it does not, did not answer within 3 s, or the configuration is refused
  2  wrong usage
)";

constexpr char kMigrateFooter[] =
    R"(Every enabled store of kind `postgres` is migrated, by the role that owns the schema.
Each step is one transaction. A step is never reverted. Running servers continue to serve. A step
that a running server may not serve is refused. Connecting to a host may take 5 s. A step has no
time limit.

Exit status:
  0  the schemas are up to date; with --status: this program may serve every database
  1  a step failed or was refused (the steps before it stay), a database cannot be reached, no store
     is in a database, or the configuration is refused; with --status: also when this program may
     not serve one of the databases
  2  wrong usage
)";

constexpr char kStoreFooter[] =
    "`holdfastd store adopt --help` prints the options and exit status of the command.";

constexpr char kAdoptFooter[] =
    R"(The incarnation of the active store is raised: earlier lease tokens, cursors and page
tokens are refused from then on. No server may serve the store meanwhile. Adopt a copy only if it
alone will be used from now on.

Exit status:
  0  the store is adopted; its id and incarnation are printed
  1  the store cannot be adopted (standard error says why), or the configuration is refused
  2  wrong usage
)";

constexpr char kEnvironment[] = R"(
Environment:
  HOLDFAST_CONFIG        the configuration file, if --config is not given; without either one the
                         defaults are used, which --print-config prints
  HOLDFAST_POSTGRES_DSN  replaces `dsn` of every store of kind `postgres`
  XDG_STATE_HOME, HOME   without `stores` in the file, sessions are kept in files of the directory
                         $XDG_STATE_HOME/holdfast, else $HOME/.local/state/holdfast
  OTEL_SDK_DISABLED, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_ENDPOINT,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG
                         replace keys of `telemetry`
  NAME                   of each `env:NAME` of the configuration: the value of a secret
  PGHOST, PGUSER, ...    libpq's: what a `dsn` leaves out
)";

constexpr char kServeExamples[] = R"(
Examples:
  holdfastd --config /etc/holdfast/holdfastd.yaml
  holdfastd --check-config --config holdfastd.yaml)";

constexpr char kHealthcheckExamples[] = R"(
Examples:
  holdfastd healthcheck --address 127.0.0.1:7420
  holdfastd healthcheck --service liveness)";

constexpr char kMigrateExamples[] = R"(
Examples:
  holdfastd migrate --status --config /etc/holdfast/holdfastd.yaml
  holdfastd migrate --config /etc/holdfast/holdfastd.yaml)";

constexpr char kAdoptExamples[] = R"(
Example:
  holdfastd store adopt --config /etc/holdfast/holdfastd.yaml)";

// The footer of a command that reads the configuration.
std::string Footer(const char* text, const char* examples) {
  return absl::StrCat(text, kEnvironment, examples);
}

std::string EmptyProblem(const std::string& value) { return value.empty() ? "needs a value" : ""; }

// An option with one value. Of several the last one counts.
CLI::Option* AddText(CLI::App& app, const std::string& name, std::string& target) {
  return app.add_option(name, target)->take_last()->check(CLI::Validator(EmptyProblem, ""));
}

void AddConfig(CLI::App& app, Flags& flags) {
  AddText(app, "--config", flags.config)
      ->type_name("FILE")
      ->description("Configuration file in YAML");
}

void AddHealthcheck(CLI::App& app, Flags& flags) {
  CLI::App* command = app.add_subcommand("healthcheck", "Checks whether a running server serves");
  AddConfig(*command, flags);
  AddText(*command, "--address", flags.address)
      ->type_name("ADDRESS")
      ->check(CLI::Validator(AddressProblem, ""))
      ->description("Address of the server: HOST:PORT or unix:PATH");
  AddText(*command, "--service", flags.service)
      ->type_name("NAME")
      ->description("Service name to check; `liveness`: whether calls make progress");
  command->footer(Footer(kHealthcheckFooter, kHealthcheckExamples));
  command->callback([&flags] { flags.action = Action::kHealthcheck; });
}

void AddMigrate(CLI::App& app, Flags& flags) {
  CLI::App* command =
      app.add_subcommand("migrate", "Brings the schema of databases up to date, and ends");
  AddConfig(*command, flags);
  command
      ->add_flag("--status", flags.status,
                 "List the applied steps and the servers that serve; change nothing")
      ->disable_flag_override();
  command->footer(Footer(kMigrateFooter, kMigrateExamples));
  command->callback([&flags] { flags.action = Action::kMigrate; });
}

void AddStore(CLI::App& app, Flags& flags) {
  CLI::App* store = app.add_subcommand("store", "Administers the active store");
  store->require_subcommand(1)->footer(kStoreFooter);
  CLI::App* adopt = store->add_subcommand(
      "adopt", "Takes over a store that was copied or restored from a backup, and ends");
  AddConfig(*adopt, flags);
  adopt->footer(Footer(kAdoptFooter, kAdoptExamples));
  adopt->callback([&flags] { flags.action = Action::kAdopt; });
}

// A flag that replaces serving by `action`.
CLI::Option* AddAction(CLI::App& app, const std::string& name, Flags& flags, Action action) {
  return app.add_flag_callback(name, [&flags, action] { flags.action = action; })
      ->disable_flag_override();
}

void AddEverything(CLI::App& app, Flags& flags) {
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", std::string())->description("Print the version and exit");
  AddConfig(app, flags);
  CLI::Option* check = AddAction(app, "--check-config", flags, Action::kCheckConfig)
                           ->description("Check the configuration and exit");
  CLI::Option* print = AddAction(app, "--print-config", flags, Action::kPrintConfig)
                           ->description("Print the effective configuration as YAML and exit");
  check->excludes(print);
  AddHealthcheck(app, flags);
  AddMigrate(app, flags);
  AddStore(app, flags);
  app.require_subcommand(0, 1);
  for (CLI::App* command : app.get_subcommands({})) command->excludes(check)->excludes(print);
  app.footer(Footer(kServeFooter, kServeExamples));
}

// The command that was parsed, for example "holdfastd migrate".
std::string CommandOf(const CLI::App& app) {
  std::string words = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    absl::StrAppend(&words, " ", at->get_name());
  }
  return words;
}

absl::Status WrongUsage(const std::string& why, const CLI::App& app) {
  return absl::InvalidArgumentError(
      absl::StrCat(why, "\nRun `", CommandOf(app), " --help` for the usage."));
}

// `above`: the words that name what `command` is below.
void CollectHelp(const CLI::App& command, const std::string& above,
                 std::vector<CommandHelp>& collected) {
  const std::string name = above.empty() ? command.get_name() : above + " " + command.get_name();
  collected.push_back({.command = name, .text = command.help(above)});
  for (const CLI::App* below : command.get_subcommands({})) CollectHelp(*below, name, collected);
}

}  // namespace

absl::StatusOr<Flags> ParseFlags(std::span<char* const> arguments) {
  Flags flags;
  CLI::App app(kAbout, kProgram);
  AddEverything(app, flags);
  std::vector<std::string> words(arguments.begin(), arguments.end());
  if (const auto name = FindOptionWithoutValue(words)) {
    return WrongUsage(*name + ": needs a value", app);
  }
  try {
    std::ranges::reverse(words);
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    flags.action = Action::kHelp;
    flags.help = app.help();
  } catch (const CLI::CallForVersion&) {
    flags.action = Action::kPrintVersion;
  } catch (const CLI::ParseError& error) {
    // The library finds a missing command before an unknown argument.
    const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
    return WrongUsage(unknown.empty() ? error.what() : unknown.front() + ": unknown argument", app);
  }
  return flags;
}

std::vector<CommandHelp> HelpOfCommands() {
  Flags unused;
  CLI::App app(kAbout, kProgram);
  AddEverything(app, unused);
  std::vector<CommandHelp> collected;
  CollectHelp(app, "", collected);
  return collected;
}

}  // namespace holdfast
