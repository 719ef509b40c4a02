// The command line of holdfastd.
#ifndef HOLDFAST_SERVER_FLAGS_H_
#define HOLDFAST_SERVER_FLAGS_H_

#include "absl/status/statusor.h"

#include <span>
#include <string>
#include <vector>

namespace holdfast {

struct Flags {
  enum class Action {
    kServe,
    kCheckConfig,
    kPrintConfig,
    kPrintVersion,
    kHelp,
    kHealthcheck,
    kAdopt,
    kMigrate
  };
  Action action = Action::kServe;
  std::string config;   // --config FILE
  std::string address;  // healthcheck --address
  std::string service;  // healthcheck --service
  bool status = false;  // migrate --status
  std::string help;     // of kHelp: the text to print
};

// The flags in `arguments`, the program's name left out. INVALID_ARGUMENT names the argument that
// is wrong, and the --help of its command.
absl::StatusOr<Flags> ParseFlags(std::span<char* const> arguments);

struct CommandHelp {
  std::string command;  // for example "holdfastd migrate"
  std::string text;
};

// What --help prints of the program and of every command.
std::vector<CommandHelp> HelpOfCommands();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_FLAGS_H_
