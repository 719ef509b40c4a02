#include "cli/session_command.h"

#include "CLI/CLI.hpp"

namespace holdfast::cli {

void AddTarget(CLI::App& command, Target& target) {
  auto* id = command.add_option("SESSION", target.session_id, "Session id")->type_name("");
  auto* latest = command.add_option("--latest", target.latest_of_project_root,
                                    "Use the newest session of this project root instead of an id");
  latest->type_name("PROJECT_ROOT")->excludes(id);
  command.parse_complete_callback([&target] {
    if (target.session_id.empty() && target.latest_of_project_root.empty()) {
      throw CLI::RequiredError("SESSION or --latest PROJECT_ROOT");
    }
  });
}

}  // namespace holdfast::cli
