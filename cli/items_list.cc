#include "cli/items_list.h"

#include "cli/item_options.h"
#include "cli/page_options.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

#include <memory>
#include <string>

namespace holdfast::cli {
namespace {

struct ItemsListOptions {
  ItemSelection wanted;
  PageOptions page;
  bool descending = false;
  bool omit_data = false;
};

bool IsOfGroup(const v1::ReadItemsRequest& request) {
  return !request.group().empty() || !request.group_prefix().empty();
}

ExitCode RunItemsList(const SessionCommand& command, const ItemsListOptions& options) {
  ItemSelection wanted = options.wanted;
  wanted.request.mutable_range()->set_descending(options.descending);
  wanted.request.set_omit_data(options.omit_data);
  wanted.request.set_page_token(options.page.token);
  wanted.limit = options.page.limit;
  ItemListWriter writer(command.invocation(),
                        IsOfGroup(wanted.request) ? GroupItemHeading() : ItemHeading());
  return WriteItems(command, wanted, writer);
}

// What names one session, or a group of them.
void AddSessions(CLI::App& list, ItemSelection& wanted) {
  const TargetOptions one = AddTargetOptions(list, wanted.target);
  v1::ReadItemsRequest& request = wanted.request;
  CLI::Option* const group =
      list.add_option("--group", *request.mutable_group(),
                      "List the items of every session of this group, session by session")
          ->type_name("GROUP");
  CLI::Option* const prefix = list.add_option("--group-prefix", *request.mutable_group_prefix(),
                                              "The same of groups that begin with this, by group")
                                  ->type_name("PREFIX");
  for (CLI::Option* const option : {group, prefix}) {
    option->excludes(one.session)->excludes(one.latest);
  }
  prefix->excludes(group);
  list.parse_complete_callback([&wanted] {
    const Target& target = wanted.target;
    const bool is_of_one = !target.session_id.empty() || !target.latest_of_project_root.empty();
    if (is_of_one || IsOfGroup(wanted.request)) return;
    throw CLI::RequiredError(
        "SESSION, --latest PROJECT_ROOT, --group GROUP or --group-prefix PREFIX");
  });
}

void AddRange(CLI::App& list, ItemsListOptions& options) {
  v1::ItemRange& range = *options.wanted.request.mutable_range();
  AddKey(list, "--prefix", *range.mutable_key_prefix(), "List only keys that begin with this");
  AddKey(list, "--after-key", *range.mutable_after_key(), "List only keys behind this one");
  AddKey(list, "--before-key", *range.mutable_before_key(), "List only keys before this one");
  list.add_flag("--descending", options.descending, "List the last key first");
  AddLabels(list, *options.wanted.request.mutable_labels(), "List only items with this label");
}

}  // namespace

ExitCode WriteItems(const SessionCommand& command, const ItemSelection& wanted,
                    ItemListWriter& writer) {
  const Connection connection(command.invocation().address);
  const Caller caller(command.policy(), MachineClock());
  const SessionCalls calls(connection, caller);
  v1::ReadItemsRequest request = wanted.request;
  grpc::Status status;
  if (!IsOfGroup(request)) status = calls.Resolve(wanted.target, *request.mutable_session_id());
  if (status.ok()) {
    status = calls.ReadItemPages(request, wanted.limit,
                                 [&](ItemEntryPage& page) { return writer.Write(page); });
  }
  if (!status.ok()) return writer.Fail(status);
  writer.End();
  return kDone;
}

void AddItemsList(CLI::App& items, const SessionCommandPtr& command) {
  const auto options = std::make_shared<ItemsListOptions>();
  CLI::App* list = items.add_subcommand("list", "Lists the items of a collection by their keys");
  AddSessions(*list, options->wanted);
  AddCollection(*list, *options->wanted.request.mutable_collection());
  AddRange(*list, *options);
  AddPageOptions(*list, options->page);
  list->add_flag("--omit-data", options->omit_data, "Read the size of the data alone");
  list->footer(absl::StrCat(
      "DATA is shortened; with --output json or jsonl `key` and `data` are whole, in base64.\n"
      "Of a group each item has its session: the column SESSION, `session_id` in JSON. A session\n"
      "that cannot be read is skipped and named.\n",
      kKeyHelp, "\n", kLabelHelp,
      "\n"
      "\nExamples:\n  holdfast items list 4f1c2d3e --collection notes\n"
      "  holdfast items list 4f1c2d3e --collection notes --prefix plan --label draft:=true\n"
      "  holdfast items list --group-prefix app/ --collection notes --label draft:=true\n"
      "  holdfast --output jsonl items list 4f1c2d3e --collection notes | jq -r '.data | "
      "@base64d'"));
  list->callback([command, options] {
    command->invocation().command = [command, options] { return RunItemsList(*command, *options); };
  });
}

}  // namespace holdfast::cli
