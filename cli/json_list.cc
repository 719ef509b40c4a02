#include "cli/json_list.h"

#include "cli/json.h"

#include "absl/strings/str_replace.h"
#include "google/protobuf/descriptor.h"

#include <memory>
#include <string>
#include <utility>

namespace holdfast::cli {
namespace {

// Everything of `page` but its items.
nlohmann::ordered_json RestOf(const google::protobuf::Message& page,
                              const google::protobuf::FieldDescriptor* items) {
  const std::unique_ptr<google::protobuf::Message> rest(page.New());
  rest->CopyFrom(page);
  rest->GetReflection()->ClearField(rest.get(), items);
  nlohmann::ordered_json object = ToJson(*rest);
  object.erase(items->name());
  return object;
}

}  // namespace

void JsonList::Add(const google::protobuf::Message& page, const AmendItem& amend) {
  const auto* items = page.GetDescriptor()->FindFieldByNumber(1);
  Begin(items->name());
  const auto* reflection = page.GetReflection();
  for (int i = 0; i < reflection->FieldSize(page, items); ++i) {
    nlohmann::ordered_json item = ToJson(reflection->GetRepeatedMessage(page, items, i));
    if (amend) amend(i, item);
    AddItem(item);
  }
  rest_ = RestOf(page, items);
}

void JsonList::Add(const std::string& name, const std::vector<nlohmann::ordered_json>& items,
                   nlohmann::ordered_json rest) {
  Begin(name);
  for (const nlohmann::ordered_json& item : items) AddItem(item);
  rest_ = std::move(rest);
}

void JsonList::Begin(const std::string& name) {
  if (!begun_ && invocation_.output == Output::kJson) {
    invocation_.out << "{\n  \"" << name << "\": [";
  }
  begun_ = true;
}

void JsonList::AddItem(const nlohmann::ordered_json& item) {
  if (invocation_.output != Output::kJson) return WriteJson(invocation_, item);
  // A newline of the layout: in a string of JSON it is escaped.
  const std::string text =
      absl::StrReplaceAll(JsonText(item, JsonLayout::kPretty), {{"\n", "\n    "}});
  invocation_.out << (has_items_ ? ",\n    " : "\n    ") << text;
  has_items_ = true;
}

void JsonList::EndWith(const nlohmann::ordered_json& rest) const {
  if (invocation_.output != Output::kJson) return;
  const std::string text = JsonText(rest, JsonLayout::kPretty);
  invocation_.out << (has_items_ ? "\n  ]" : "]") << (rest.empty() ? "\n}" : "," + text.substr(1))
                  << '\n';
}

void JsonList::End() const { EndWith(rest_); }

ExitCode JsonList::Fail(const grpc::Status& status) const {
  if (!begun_ || invocation_.output != Output::kJson) return Refuse(invocation_, status);
  const Failure failure = FailureOf(invocation_, status);
  EndWith({{"error", ToJson(failure)}});
  return ExitCodeOf(failure);
}

}  // namespace holdfast::cli
