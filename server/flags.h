// The command line of holdfastd.
#ifndef HOLDFAST_SERVER_FLAGS_H_
#define HOLDFAST_SERVER_FLAGS_H_

#include "absl/status/statusor.h"

#include <span>
#include <string>

namespace holdfast {

struct Flags {
  enum class Action {
    kServe,
    kCheckConfig,
    kPrintConfig,
    kVersion,
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
};

inline constexpr char kUsage[] =
    "usage: holdfastd [--config FILE] [--check-config | --print-config | --version]\n"
    "       holdfastd healthcheck [--config FILE] [--address ADDRESS] [--service NAME]\n"
    "       holdfastd migrate [--config FILE] [--status]   brings the schema of databases up to "
    "date\n"
    "       holdfastd store adopt [--config FILE]   takes over a copied or restored store\n";

// The flags in `arguments`, the program's name left out. INVALID_ARGUMENT says what is wrong.
absl::StatusOr<Flags> ParseFlags(std::span<char* const> arguments);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_FLAGS_H_
