#include "cli/json.h"

#include "cli/times.h"

#include "absl/strings/escaping.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

#include <string>

namespace holdfast::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

// One value of a field: its only one, or the one at `index` when the field is repeated.
struct Place {
  const Message& message;
  const FieldDescriptor* field;
  int index;
};

#define HOLDFAST_GET(place, Type)                                                           \
  ((place).field->is_repeated()                                                             \
       ? (place).message.GetReflection()->GetRepeated##Type((place).message, (place).field, \
                                                            (place).index)                  \
       : (place).message.GetReflection()->Get##Type((place).message, (place).field))

ordered_json Text(const Place& place) {
  std::string text = HOLDFAST_GET(place, String);
  if (place.field->type() == FieldDescriptor::TYPE_BYTES) return absl::Base64Escape(text);
  return text;
}

ordered_json Submessage(const Place& place) {
  const Message& message =
      place.field->is_repeated()
          ? place.message.GetReflection()->GetRepeatedMessage(place.message, place.field,
                                                              place.index)
          : place.message.GetReflection()->GetMessage(place.message, place.field);
  if (const auto* time = dynamic_cast<const google::protobuf::Timestamp*>(&message)) {
    return TimeText(*time);
  }
  if (const auto* duration = dynamic_cast<const google::protobuf::Duration*>(&message)) {
    return DurationText(*duration);
  }
  return ToJson(message);
}

ordered_json Value(const Place& place) {
  switch (place.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return HOLDFAST_GET(place, Int32);
    case FieldDescriptor::CPPTYPE_INT64:
      return HOLDFAST_GET(place, Int64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return HOLDFAST_GET(place, UInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return HOLDFAST_GET(place, UInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return HOLDFAST_GET(place, Double);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return HOLDFAST_GET(place, Float);
    case FieldDescriptor::CPPTYPE_BOOL:
      return HOLDFAST_GET(place, Bool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return HOLDFAST_GET(place, Enum)->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return Text(place);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Submessage(place);
  }
  return nullptr;
}

#undef HOLDFAST_GET

ordered_json Map(const Message& message, const FieldDescriptor* field) {
  ordered_json object = ordered_json::object();
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, field, i);
    const auto* type = entry.GetDescriptor();
    const std::string key = Value({entry, type->map_key(), 0}).get<std::string>();
    object[key] = Value({entry, type->map_value(), 0});
  }
  return object;
}

ordered_json List(const Message& message, const FieldDescriptor* field) {
  ordered_json list = ordered_json::array();
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    list.push_back(Value({message, field, i}));
  }
  return list;
}

}  // namespace

ordered_json ToJson(const Message& message) {
  ordered_json object = ordered_json::object();
  const auto* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const bool may_be_absent = field->has_presence() && !field->is_repeated();
    if (may_be_absent && !message.GetReflection()->HasField(message, field)) continue;
    if (field->is_map()) {
      object[field->name()] = Map(message, field);
    } else if (field->is_repeated()) {
      object[field->name()] = List(message, field);
    } else {
      object[field->name()] = Value({message, field, 0});
    }
  }
  return object;
}

}  // namespace holdfast::cli
