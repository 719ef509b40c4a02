#include "cli/session_command.h"

#include "CLI/CLI.hpp"

#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

CLI::Option* AddSession(CLI::App& command, Target& target) {
  return command.add_option("SESSION", target.session_id, "Session id")->type_name("");
}

CLI::Option* AddLatest(CLI::App& command, Target& target) {
  return command
      .add_option("--latest", target.latest_of_project_root,
                  "Use the newest session of this project root instead of an id")
      ->type_name("PROJECT_ROOT");
}

void RequireTarget(const Target& target) {
  if (target.session_id.empty() && target.latest_of_project_root.empty()) {
    throw CLI::RequiredError("SESSION or --latest PROJECT_ROOT");
  }
}

}  // namespace

TargetOptions AddTargetOptions(CLI::App& command, Target& target) {
  CLI::Option* const id = AddSession(command, target);
  return {.session = id, .latest = AddLatest(command, target)->excludes(id)};
}

void AddTarget(CLI::App& command, Target& target) {
  AddTargetOptions(command, target);
  command.parse_complete_callback([&target] { RequireTarget(target); });
}

void AddTargetAndKeys(CLI::App& command, Target& target, std::vector<std::string>& keys, int most,
                      const std::string& help) {
  AddSession(command, target);
  // Where extra arguments are allowed the library takes one word `[a,b]` for two; where they are
  // not, a positional takes as many words as it expects at least, which this policy does not check.
  constexpr int kAnyNumber = -1;
  command.add_option("KEY", keys, help)
      ->type_name("")
      ->expected(most, most == 1 ? 1 : kAnyNumber)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  AddLatest(command, target);
  command.parse_complete_callback([&target, &keys] {
    RequireTarget(target);
    if (target.latest_of_project_root.empty() || target.session_id.empty()) return;
    keys.insert(keys.begin(), target.session_id);
    target.session_id.clear();
  });
}

void AddUid(CLI::App& command, Target& target) {
  command
      .add_option(
          "--uid", target.session_uid,
          "Only the session of this uid, which `session show` prints; needed where a deleted "
          "id is used again and no token is given")
      ->type_name("UUID");
}

}  // namespace holdfast::cli
