// What the protos declare about methods and reasons, read from the descriptors.
#ifndef HOLDFAST_TESTS_SUPPORT_METHOD_RULES_H_
#define HOLDFAST_TESTS_SUPPORT_METHOD_RULES_H_

#include "holdfast/v1/method_options.pb.h"
#include "session/reasons.h"

#include <google/protobuf/descriptor.h>

#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

// The services of holdfast.v1 in the order of the reference, and all of their methods.
std::vector<const google::protobuf::ServiceDescriptor*> ApiServices();
std::vector<const google::protobuf::MethodDescriptor*> ApiMethods();

const v1::MethodRules& RulesOf(const google::protobuf::MethodDescriptor& method);

bool IsStream(const google::protobuf::MethodDescriptor& method);

// The value of the enum in the protos for `reason`, whose name has the prefix REASON_.
const google::protobuf::EnumValueDescriptor& DeclaredReason(Reason reason);
const v1::ReasonRules& RulesOf(Reason reason);

// The names of the reasons of a group, as they are in ErrorInfo.reason.
std::set<std::string> ReasonsOf(v1::ReasonGroup group);
// Of a method, beside those of REASON_GROUP_ANY_CALL.
std::set<std::string> ReasonsOf(const google::protobuf::MethodDescriptor& method);

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_METHOD_RULES_H_
