#include "cli/item_options.h"

#include "cli/item_key.h"
#include "cli/item_label.h"

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"

#include <utility>

namespace holdfast::cli {
namespace {

// The value, or a usage error of the option `name`.
template <typename Value>
Value ValueOrThrow(const std::string& name, absl::StatusOr<Value> value) {
  if (value.ok()) return *std::move(value);
  throw CLI::ValidationError(name, std::string(value.status().message()));
}

}  // namespace

void AddCollection(CLI::App& command, std::string& target) {
  command.add_option("--collection", target, "The collection that has the items")
      ->type_name("NAME")
      ->required();
}

CLI::Option* AddKey(CLI::App& command, const std::string& name, std::string& target,
                    const std::string& help) {
  const auto take = [name, &target](const std::string& text) {
    target = ValueOrThrow(name, ParseKey(text));
  };
  return command.add_option_function<std::string>(name, take, help)->type_name("KEY");
}

void AddLabels(CLI::App& command, google::protobuf::Map<std::string, v1::Label>& target,
               const std::string& help) {
  const std::string option = "--label";
  const auto take = [option, &target](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      auto [name, label] = ValueOrThrow(option, ParseLabel(text));
      if (target.contains(name)) {
        throw CLI::ValidationError(option, "`" + name + "` is given twice");
      }
      target[name] = std::move(label);
    }
  };
  // Each takes one word: the library would take those that follow too, and `[a,b]` for two.
  command.add_option_function<std::vector<std::string>>(option, take, help + "; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

std::vector<std::string> KeysOf(const std::vector<std::string>& words) {
  std::vector<std::string> keys;
  keys.reserve(words.size());
  for (const std::string& word : words) keys.push_back(ValueOrThrow("KEY", ParseKey(word)));
  return keys;
}

}  // namespace holdfast::cli
