#include "server/flags.h"

#include "server/config.h"

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

using Action = Flags::Action;

const std::map<std::string_view, Action>& Actions() {
  static const std::map<std::string_view, Action> kActions = {
      {"--check-config", Action::kCheckConfig},
      {"--print-config", Action::kPrintConfig},
      {"--version", Action::kVersion},
      {"--help", Action::kHelp},
      {"-h", Action::kHelp},
      {"healthcheck", Action::kHealthcheck},
      {"migrate", Action::kMigrate},
      {"store adopt", Action::kAdopt}};
  return kActions;
}

// What a flag with a value fills, or nullptr.
std::string* Target(std::string_view name, Flags& flags) {
  if (name == "--config") return &flags.config;
  if (name == "--address") return &flags.address;
  if (name == "--service") return &flags.service;
  return nullptr;
}

// `flags`, unless there is one that goes with another action alone.
absl::StatusOr<Flags> Checked(Flags flags) {
  if (!flags.address.empty() && flags.action != Action::kHealthcheck) {
    return absl::InvalidArgumentError("--address: goes with healthcheck alone");
  }
  if (!flags.service.empty() && flags.action != Action::kHealthcheck) {
    return absl::InvalidArgumentError("--service: goes with healthcheck alone");
  }
  if (!flags.address.empty()) {
    const std::string problem = AddressProblem(flags.address);
    if (!problem.empty()) return absl::InvalidArgumentError("--address: " + problem);
  }
  if (flags.status && flags.action != Action::kMigrate) {
    return absl::InvalidArgumentError("--status: goes with migrate alone");
  }
  return flags;
}

}  // namespace

absl::StatusOr<Flags> ParseFlags(std::span<char* const> arguments) {
  Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    // A subcommand of two words is looked up as one.
    const bool two_words = arguments[i] == std::string_view("store") && i + 1 < arguments.size();
    const std::string words = two_words ? std::string("store ") + arguments[++i] : arguments[i];
    const std::string_view argument = words;
    const size_t equals = argument.starts_with("--") ? argument.find('=') : std::string_view::npos;
    const std::string name(argument.substr(0, equals));
    if (const auto action = Actions().find(argument); action != Actions().end()) {
      if (flags.action != Action::kServe) {
        return absl::InvalidArgumentError(name + ": cannot be combined with the command before it");
      }
      flags.action = action->second;
      continue;
    }
    if (argument == "--status") {
      flags.status = true;
      continue;
    }
    std::string* target = Target(name, flags);
    if (target == nullptr) return absl::InvalidArgumentError(name + ": unknown argument");
    if (equals != std::string_view::npos) {
      *target = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      *target = arguments[++i];
    }
    if (target->empty()) return absl::InvalidArgumentError(name + ": needs a value");
  }
  return Checked(std::move(flags));
}

}  // namespace holdfast
