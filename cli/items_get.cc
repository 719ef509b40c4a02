#include "cli/items_get.h"

#include "cli/item_key.h"
#include "cli/item_options.h"
#include "cli/items_list.h"
#include "cli/reasons.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

// Of one call, as the server takes them.
constexpr int kMostKeys = 1000;

struct ItemsGetOptions {
  ItemSelection wanted;
  std::vector<std::string> words;
};

// Why there is nothing to print of `key`.
Failure ItemFailure(const ItemSelection& wanted, const std::string& key, grpc::StatusCode code) {
  const bool damaged = code == grpc::StatusCode::DATA_LOSS;
  return {.reason = damaged ? "DAMAGED" : std::string(kItemMissingReason),
          .metadata = {{"collection", wanted.request.collection()}, {"key", KeyText(key)}},
          .code = code};
}

// Names the keys that have no item; a document lists them itself. Returns how to exit.
ExitCode RefuseMissing(const Invocation& invocation, const ItemSelection& wanted,
                       const std::vector<std::string>& missing) {
  if (missing.empty()) return kDone;
  if (invocation.output == Output::kJson) return kRefused;
  for (const std::string& key : missing) {
    Refuse(invocation, ItemFailure(wanted, key, grpc::StatusCode::NOT_FOUND));
  }
  return kRefused;
}

ExitCode GetList(const SessionCommand& command, const ItemSelection& wanted) {
  ItemListWriter writer(command.invocation());
  const ExitCode code = WriteItems(command, wanted, writer);
  if (code != kDone) return code;
  const ExitCode missing = RefuseMissing(command.invocation(), wanted, writer.missing());
  return writer.damaged() ? kDifference : missing;
}

// Writes the data of one item and nothing else.
ExitCode GetData(const SessionCommand& command, const ItemSelection& wanted) {
  const Invocation& invocation = command.invocation();
  ItemEntryPage found;
  const ExitCode code =
      command.RunOn(wanted.target, [&](const SessionCalls& calls, const std::string& id) {
        v1::ReadItemsRequest request = wanted.request;
        request.set_session_id(id);
        return calls.ReadItemPages(request, 0, [&](ItemEntryPage& page) {
          found = std::move(page);
          return false;
        });
      });
  if (code != kDone) return code;
  if (found.items.empty()) return RefuseMissing(invocation, wanted, {wanted.request.keys(0)});
  if (found.items.front().damaged) {
    return Refuse(invocation,
                  ItemFailure(wanted, wanted.request.keys(0), grpc::StatusCode::DATA_LOSS));
  }
  invocation.out << found.items.front().item.data();
  return kDone;
}

ExitCode RunItemsGet(const SessionCommand& command, const ItemSelection& wanted) {
  const bool data_alone = wanted.request.keys_size() == 1 && !command.invocation().json();
  return data_alone ? GetData(command, wanted) : GetList(command, wanted);
}

}  // namespace

void AddItemsGet(CLI::App& items, const SessionCommandPtr& command) {
  const auto options = std::make_shared<ItemsGetOptions>();
  CLI::App* get = items.add_subcommand("get", "Prints the data of an item, or lists several items");
  AddTargetAndKeys(*get, options->wanted.target, options->words, kMostKeys,
                   "Key of an item; several are listed as `items list` does");
  AddCollection(*get, *options->wanted.request.mutable_collection());
  get->footer(absl::StrCat(
      "The data of one item is written as it is, without a newline behind it. Several items, and\n"
      "with --output json or jsonl one too, are listed in the order of their keys. Exits with 1\n"
      "when a key has no item, which is named, and with 4 when an item is damaged.\n",
      kKeyHelp,
      "\n"
      "\nExamples:\n  holdfast items get 4f1c2d3e plan --collection notes\n"
      "  holdfast items get 4f1c2d3e plan todo --collection notes\n"
      "  holdfast --output json items get 4f1c2d3e plan --collection notes | jq -r "
      "'.items[0].version'"));
  get->callback([command, options] {
    if (options->words.empty()) throw CLI::RequiredError("KEY");
    const std::vector<std::string> keys = KeysOf(options->words);
    options->wanted.request.mutable_keys()->Assign(keys.begin(), keys.end());
    command->invocation().command = [command, options] {
      return RunItemsGet(*command, options->wanted);
    };
  });
}

}  // namespace holdfast::cli
