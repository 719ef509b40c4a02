#include "tests/support/method_rules.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace holdfast::test {
namespace {

namespace pb = ::holdfast::v1;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

std::string NameOf(pb::Reason reason) {
  return std::string(absl::StripPrefix(pb::Reason_Name(reason), "REASON_"));
}

}  // namespace

std::vector<const ServiceDescriptor*> ApiServices() {
  std::vector<const ServiceDescriptor*> services;
  for (const char* name : {"SessionService", "StoreService", "ItemService", "AdminService"}) {
    services.push_back(google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
        absl::StrCat("holdfast.v1.", name)));
  }
  return services;
}

std::vector<const MethodDescriptor*> ApiMethods() {
  std::vector<const MethodDescriptor*> methods;
  for (const ServiceDescriptor* service : ApiServices()) {
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  }
  return methods;
}

const pb::MethodRules& RulesOf(const MethodDescriptor& method) {
  return method.options().GetExtension(pb::rules);
}

bool IsStream(const MethodDescriptor& method) {
  return method.client_streaming() || method.server_streaming();
}

const EnumValueDescriptor& DeclaredReason(Reason reason) {
  const std::string name = absl::StrCat("REASON_", std::string(RowOf(reason).name));
  return *pb::Reason_descriptor()->FindValueByName(name);
}

const pb::ReasonRules& RulesOf(Reason reason) {
  return DeclaredReason(reason).options().GetExtension(pb::reason_rules);
}

std::set<std::string> ReasonsOf(pb::ReasonGroup group) {
  const auto& rules =
      pb::ReasonGroup_descriptor()->FindValueByNumber(group)->options().GetExtension(
          pb::group_rules);
  std::set<std::string> names;
  for (const int reason : rules.reasons()) names.insert(NameOf(static_cast<pb::Reason>(reason)));
  return names;
}

std::set<std::string> ReasonsOf(const MethodDescriptor& method) {
  std::set<std::string> names;
  for (const int reason : RulesOf(method).reasons()) {
    names.insert(NameOf(static_cast<pb::Reason>(reason)));
  }
  for (const int group : RulesOf(method).groups()) {
    names.merge(ReasonsOf(static_cast<pb::ReasonGroup>(group)));
  }
  return names;
}

}  // namespace holdfast::test
