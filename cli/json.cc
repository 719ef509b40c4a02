#include "cli/json.h"

#include "google/protobuf/util/json_util.h"

namespace holdfast::cli {

nlohmann::ordered_json ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) throw UnprintableReply(status.message().ToString());
  return nlohmann::ordered_json::parse(text);
}

std::string JsonText(const nlohmann::ordered_json& object, JsonLayout layout) {
  constexpr int kIndent = 2;
  const int indent = layout == JsonLayout::kPretty ? kIndent : -1;
  return object.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace holdfast::cli
