#include "cli/json_list.h"

#include "cli/json.h"

#include "absl/strings/str_replace.h"
#include "google/protobuf/descriptor.h"

#include <memory>
#include <string>

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
  const bool document = invocation_.output == Output::kJson;
  if (document && !begun_) invocation_.out << "{\n  \"" << items->name() << "\": [";
  begun_ = true;
  const auto* reflection = page.GetReflection();
  for (int i = 0; i < reflection->FieldSize(page, items); ++i) {
    nlohmann::ordered_json item = ToJson(reflection->GetRepeatedMessage(page, items, i));
    if (amend) amend(i, item);
    if (!document) {
      WriteJson(invocation_, item);
      continue;
    }
    // A newline of the layout: in a string of JSON it is escaped.
    const std::string text =
        absl::StrReplaceAll(JsonText(item, JsonLayout::kPretty), {{"\n", "\n    "}});
    invocation_.out << (has_items_ ? ",\n    " : "\n    ") << text;
    has_items_ = true;
  }
  rest_ = RestOf(page, items);
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
