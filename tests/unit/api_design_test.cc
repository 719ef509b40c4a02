// The protos follow Google's API Improvement Proposals (https://google.aip.dev): one test per rule,
// with its number, and each exception with its reason.
#include "tests/support/field_behavior.h"
#include "tests/support/method_rules.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include <google/protobuf/descriptor.h>

#include <set>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;

// Every message and enum of holdfast.v1 that a method uses.
struct Types {
  std::set<const Descriptor*> messages;
  std::set<const EnumDescriptor*> enums;
};

void AddMessage(const Descriptor& message, Types& types) {
  if (message.file()->package() != "holdfast.v1" || !types.messages.insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.message_type() != nullptr) AddMessage(*field.message_type(), types);
    if (field.enum_type() != nullptr) types.enums.insert(field.enum_type());
  }
}

const Types& ApiTypes() {
  static const Types types = [] {
    Types all;
    for (const MethodDescriptor* method : ApiMethods()) {
      AddMessage(*method->input_type(), all);
      AddMessage(*method->output_type(), all);
    }
    return all;
  }();
  return types;
}

std::vector<const FieldDescriptor*> ApiFields() {
  std::vector<const FieldDescriptor*> fields;
  for (const Descriptor* message : ApiTypes().messages) {
    for (int i = 0; i < message->field_count(); ++i) fields.push_back(message->field(i));
  }
  return fields;
}

bool HasType(const FieldDescriptor* field, FieldDescriptor::Type type) {
  return field != nullptr && field->type() == type && !field->is_repeated();
}

std::vector<const MethodDescriptor*> MethodsNamed(const std::string& verb) {
  std::vector<const MethodDescriptor*> found;
  for (const MethodDescriptor* method : ApiMethods()) {
    if (absl::StartsWith(method->name(), verb)) found.push_back(method);
  }
  return found;
}

// A request is MethodRequest and a response MethodResponse. A streamed write answers what the unary
// one does, whichever way it came.
TEST(ApiDesign, Aip0136RequestsAndResponsesAreNamedAfterTheirMethod) {
  for (const MethodDescriptor* method : ApiMethods()) {
    EXPECT_EQ(method->input_type()->name(), method->name() + "Request");
    std::string name = method->name();
    if (method->client_streaming() && !method->server_streaming()) {
      name = std::string(absl::StripSuffix(name, "Stream"));
    }
    EXPECT_EQ(method->output_type()->name(), name + "Response");
  }
}

// A method begins with a verb; BatchGet is that of AIP-231. Status and Echo are those of every gRPC
// service of operators.
TEST(ApiDesign, Aip0136MethodsBeginWithAVerb) {
  const std::vector<std::string> verbs = {
      "Create", "Get",    "Lookup",  "Update",   "List",  "Resume", "Read",    "Begin",
      "Append", "Commit", "Abandon", "Cancel",   "Close", "Delete", "Renew",   "Release",
      "Watch",  "Verify", "Write",   "Describe", "Check", "Put",    "Restore", "BatchGet"};
  for (const MethodDescriptor* method : ApiMethods()) {
    if (method->name() == "Status" || method->name() == "Echo") continue;
    bool begins = false;
    for (const std::string& verb : verbs) begins |= absl::StartsWith(method->name(), verb);
    EXPECT_TRUE(begins) << method->name();
  }
}

// GetRequestOutcome is custom: it records that a request never takes effect.
// An id may be used again, so a resource is named by its id and, where the caller knows it, its
// uid.
TEST(ApiDesign, Aip0131AGetNamesItsResourceAlone) {
  for (const MethodDescriptor* method : MethodsNamed("Get")) {
    if (method->name() == "GetRequestOutcome") continue;
    ASSERT_EQ(method->input_type()->field_count(), 2) << method->name();
    EXPECT_EQ(method->input_type()->field(0)->name(), "session_id") << method->name();
    EXPECT_EQ(method->input_type()->field(1)->name(), "session_uid") << method->name();
  }
}

TEST(ApiDesign, Aip0158AListHasPages) {
  EXPECT_EQ(MethodsNamed("List").size(), 7U);
  for (const MethodDescriptor* method : MethodsNamed("List")) {
    const Descriptor& request = *method->input_type();
    const Descriptor& response = *method->output_type();
    EXPECT_TRUE(HasType(request.FindFieldByName("page_size"), FieldDescriptor::TYPE_INT32))
        << method->name();
    EXPECT_TRUE(HasType(request.FindFieldByName("page_token"), FieldDescriptor::TYPE_STRING))
        << method->name();
    EXPECT_TRUE(HasType(response.FindFieldByName("next_page_token"), FieldDescriptor::TYPE_STRING))
        << method->name();
    EXPECT_EQ(response.field(0)->number(), 1) << method->name();
    EXPECT_TRUE(response.field(0)->is_repeated()) << method->name();
  }
  for (const FieldDescriptor* field : ApiFields()) {
    if (field->name() == "page_size" || field->name() == "page_token") {
      EXPECT_TRUE(BehaviorsOf(*field).contains(google::api::OPTIONAL)) << field->full_name();
    }
  }
}

// Its response wraps the session, as that of every method does: `repeated` is beside it.
TEST(ApiDesign, Aip0134AnUpdateTakesTheResourceAndAMask) {
  for (const MethodDescriptor* method : MethodsNamed("Update")) {
    const Descriptor& request = *method->input_type();
    const std::string resource(absl::StripPrefix(method->name(), "Update"));
    bool takes = false;
    for (int i = 0; i < request.field_count(); ++i) {
      const Descriptor* type = request.field(i)->message_type();
      takes |= type != nullptr && type->name() == resource;
    }
    EXPECT_TRUE(takes) << method->name();
    const FieldDescriptor* mask = request.FindFieldByName("update_mask");
    ASSERT_NE(mask, nullptr) << method->name();
    EXPECT_EQ(mask->message_type()->full_name(), "google.protobuf.FieldMask");
  }
}

TEST(ApiDesign, Aip0155ARequestIdIsARequiredText) {
  for (const MethodDescriptor* method : ApiMethods()) {
    const FieldDescriptor* id = method->input_type()->FindFieldByName("request_id");
    if (id == nullptr) continue;
    EXPECT_TRUE(HasType(id, FieldDescriptor::TYPE_STRING)) << id->full_name();
    EXPECT_TRUE(BehaviorsOf(*id).contains(google::api::REQUIRED)) << id->full_name();
  }
}

TEST(ApiDesign, Aip0140FieldsAreLowerSnakeCase) {
  for (const FieldDescriptor* field : ApiFields()) {
    const std::string& name = field->name();
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos)
        << field->full_name();
    EXPECT_EQ(name.find("__"), std::string::npos) << field->full_name();
    EXPECT_TRUE(name.front() != '_' && name.back() != '_') << field->full_name();
  }
}

// Unsigned numbers have no type in some languages.
TEST(ApiDesign, Aip0141IntegersAreSigned) {
  for (const FieldDescriptor* field : ApiFields()) {
    EXPECT_NE(field->cpp_type(), FieldDescriptor::CPPTYPE_UINT32) << field->full_name();
    EXPECT_NE(field->cpp_type(), FieldDescriptor::CPPTYPE_UINT64) << field->full_name();
  }
}

TEST(ApiDesign, Aip0142PointsOfTimeAreTimestampsThatEndInTime) {
  for (const FieldDescriptor* field : ApiFields()) {
    const bool timestamp = field->message_type() != nullptr &&
                           field->message_type()->full_name() == "google.protobuf.Timestamp";
    EXPECT_EQ(timestamp, absl::EndsWith(field->name(), "_time")) << field->full_name();
  }
}

TEST(ApiDesign, Aip0142SpansOfTimeAreDurations) {
  for (const FieldDescriptor* field : ApiFields()) {
    for (const char* unit : {"_ms", "_seconds", "_millis", "_micros", "_nanos", "_minutes"}) {
      EXPECT_FALSE(absl::EndsWith(field->name(), unit)) << field->full_name();
    }
  }
}

TEST(ApiDesign, Aip0126AnEnumBeginsWithUnspecified) {
  EXPECT_GT(ApiTypes().enums.size(), 5U);
  for (const EnumDescriptor* type : ApiTypes().enums) {
    EXPECT_TRUE(absl::EndsWith(type->value(0)->name(), "_UNSPECIFIED")) << type->full_name();
    EXPECT_EQ(type->value(0)->number(), 0) << type->full_name();
  }
}

// A boolean says a state, not `is_` or `has_` a state.
TEST(ApiDesign, Aip0140BooleansHaveNoPrefix) {
  for (const FieldDescriptor* field : ApiFields()) {
    if (field->type() != FieldDescriptor::TYPE_BOOL) continue;
    EXPECT_FALSE(absl::StartsWith(field->name(), "is_")) << field->full_name();
    EXPECT_FALSE(absl::StartsWith(field->name(), "has_")) << field->full_name();
  }
}

}  // namespace
}  // namespace holdfast::test
