#include "cli/items_commands.h"

#include "cli/durations.h"
#include "cli/items_get.h"
#include "cli/items_list.h"
#include "cli/items_put.h"
#include "cli/session_command.h"

#include "CLI/CLI.hpp"

#include <memory>

namespace holdfast::cli {

void AddItemsCommands(CLI::App& app, Invocation& invocation) {
  const auto command = std::make_shared<SessionCommand>(invocation);
  CLI::App* items = app.add_subcommand("items", "Lists, reads and writes the items of a session");
  AddDuration(*items, "--patience", command->policy().patience,
              "How long to retry a call that can be retried");
  items->footer(
      "--patience goes with every command.\n"
      "`holdfast items COMMAND --help` prints the options of a command, with examples.");
  AddItemsList(*items, command);
  AddItemsGet(*items, command);
  AddItemsPut(*items, command);
}

}  // namespace holdfast::cli
