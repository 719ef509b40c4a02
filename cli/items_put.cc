#include "cli/items_put.h"

#include "cli/durations.h"
#include "cli/input_file.h"
#include "cli/item_key.h"
#include "cli/item_options.h"
#include "cli/json.h"
#include "cli/request_id.h"
#include "cli/table.h"

#include "CLI/CLI.hpp"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

struct ItemsPutOptions {
  Target target;
  std::vector<std::string> words;  // KEY, or none
  v1::ItemPut put;
  std::string file;  // that has the data; `-`: standard input; empty: the data is in `put`
  bool if_absent = false;
  uint64_t if_version = 0;
  bool append = false;
  std::string request_id;
};

void WritePutJson(const Invocation& invocation, const v1::PutItemsRequest& request,
                  const std::string& key, const v1::PutItemsResponse& reply) {
  nlohmann::ordered_json object = ToJson(reply);
  object["session_id"] = request.session_id();
  object["key"] = absl::Base64Escape(key);
  WriteJson(invocation, object);
}

void WritePutTable(const Invocation& invocation, const v1::ItemPut& put, const std::string& key,
                   const v1::ItemPutResult& result) {
  std::vector<Row> rows;
  if (put.item().key().empty()) rows.push_back({"key", KeyText(key)});
  rows.push_back({"version", absl::StrCat(result.version())});
  rows.push_back({"existed", result.existed() ? "yes" : "no"});
  WriteTable(invocation.out, rows);
  if (result.existed() && put.condition() == v1::PUT_CONDITION_IF_ABSENT) {
    WriteNote(invocation, "nothing was written: this version was there");
  }
}

void WritePut(const Invocation& invocation, const v1::PutItemsRequest& request,
              const v1::PutItemsResponse& reply) {
  const v1::ItemPut& put = request.puts(0);
  const v1::ItemPutResult result =
      reply.results_size() == 0 ? v1::ItemPutResult() : reply.results(0);
  const std::string& given = put.item().key();
  const std::string key = given.empty() ? KeyOfAppended(result.version()) : given;
  if (invocation.json()) {
    WritePutJson(invocation, request, key, reply);
  } else {
    WritePutTable(invocation, put, key, result);
  }
}

ExitCode SendPut(const SessionCommand& command, const ItemsPutOptions& options,
                 const std::string& data) {
  return command.RunOn(options.target, [&](const SessionCalls& calls, const std::string& id) {
    v1::PutItemsRequest request;
    request.set_request_id(options.request_id.empty() ? NewRequestId() : options.request_id);
    request.set_session_id(id);
    request.set_session_uid(options.target.session_uid);
    *request.add_puts() = options.put;
    if (!options.file.empty()) request.mutable_puts(0)->mutable_item()->set_data(data);
    v1::PutItemsResponse reply;
    grpc::Status status = calls.PutItems(request, reply);
    if (status.ok()) WritePut(command.invocation(), request, reply);
    return status;
  });
}

ExitCode RunItemsPut(const SessionCommand& command, const ItemsPutOptions& options) {
  if (options.file.empty()) return SendPut(command, options, "");
  const absl::StatusOr<std::string> data = ReadInput(options.file);
  if (data.ok()) return SendPut(command, options, *data);
  command.invocation().err << "holdfast: " << data.status().message() << '\n';
  return kUsage;
}

// The key that the words name; empty for --append.
std::string KeyToPut(const ItemsPutOptions& options) {
  const std::vector<std::string> keys = KeysOf(options.words);
  if (keys.size() > 1) throw CLI::ExtrasError({options.words.back()});
  if (keys.empty() && !options.append) throw CLI::RequiredError("KEY or --append");
  if (!keys.empty() && options.append) throw CLI::ExcludesError("--append", "KEY");
  return keys.empty() ? "" : keys.front();
}

void AddItemData(CLI::App& put, ItemsPutOptions& options) {
  v1::Item& item = *options.put.mutable_item();
  auto* data = put.add_option("--data", *item.mutable_data(), "The data itself");
  data->type_name("TEXT");
  auto* file = put.add_option("--file", options.file,
                              "The file that has the data; `-` reads standard input");
  file->type_name("PATH")->excludes(data);
  put.add_option("--content-type", *item.mutable_content_type(), "Type of the data")
      ->type_name("TYPE");
  AddLabels(put, *item.mutable_labels(), "A label of the item");
  AddKey(put, "--parent-key", *item.mutable_parent_key(),
         "Key of another item of the collection, which need not be there");
}

void AddPutConditions(CLI::App& put, ItemsPutOptions& options) {
  auto* absent = put.add_flag("--if-absent", options.if_absent,
                              "Write only where there is no item; one that is there is kept");
  auto* version = AddCount(put, "--if-version", options.if_version,
                           "Fail unless the item has this version; 0: unless there is none");
  version->excludes(absent);
  put.add_flag("--append", options.append,
               "Write a new item, whose version is its key; without KEY")
      ->excludes(absent)
      ->excludes(version);
  put.add_option("--request-id", options.request_id,
                 "UUID of the request: a put that is sent again under it writes once")
      ->type_name("UUID");
}

}  // namespace

void AddItemsPut(CLI::App& items, const SessionCommandPtr& command) {
  const auto options = std::make_shared<ItemsPutOptions>();
  CLI::App* put = items.add_subcommand("put", "Writes an item, and prints its version");
  AddTargetAndKeys(*put, options->target, options->words, 1, "Key of the item");
  AddUid(*put, options->target);
  AddCollection(*put, *options->put.mutable_item()->mutable_collection());
  AddItemData(*put, *options);
  AddPutConditions(*put, *options);
  put->footer(absl::StrCat(
      "Needs no lease token. `existed` says whether the key had an item before.\n", kKeyHelp, "\n",
      kLabelHelp,
      "\n"
      "\nExamples:\n  holdfast items put 4f1c2d3e plan --collection notes --data 'water the beds'\n"
      "  holdfast items put 4f1c2d3e plan --collection notes --file plan.md --label draft:=true\n"
      "  date | holdfast items put 4f1c2d3e --collection log --append --file -"));
  put->callback([command, options, put] {
    if (put->count("--data") + put->count("--file") == 0) {
      throw CLI::RequiredError("--data or --file");
    }
    options->put.mutable_item()->set_key(KeyToPut(*options));
    if (options->if_absent) options->put.set_condition(v1::PUT_CONDITION_IF_ABSENT);
    if (put->count("--if-version") > 0) {
      options->put.set_condition(v1::PUT_CONDITION_IF_VERSION);
      options->put.set_expected_version(static_cast<int64_t>(options->if_version));
    }
    command->invocation().command = [command, options] { return RunItemsPut(*command, *options); };
  });
}

}  // namespace holdfast::cli
