// What the protos declare about reasons and methods agrees with the code and with itself.
#include "session/reasons.h"
#include "tests/support/field_behavior.h"
#include "tests/support/method_rules.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

namespace pb = ::holdfast::v1;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::MethodOptions;
using ::testing::IsEmpty;

// Adds the fields called `name` of `message` and of the messages in it to `found`.
void FindFields(const Descriptor& message, const std::string& name,
                std::set<const Descriptor*>& visited, std::vector<const FieldDescriptor*>& found) {
  if (!visited.insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.name() == name) found.push_back(&field);
    if (field.message_type() != nullptr) FindFields(*field.message_type(), name, visited, found);
  }
}

std::vector<const FieldDescriptor*> FieldsOf(const MethodDescriptor& method,
                                             const std::string& name) {
  std::set<const Descriptor*> visited;
  std::vector<const FieldDescriptor*> found;
  FindFields(*method.input_type(), name, visited, found);
  return found;
}

TEST(ApiRules, ReasonsAreThoseOfTheCode) {
  EXPECT_EQ(pb::Reason_descriptor()->value_count(), static_cast<int>(kReasonRows.size()) + 1);
  for (const ReasonRow& row : kReasonRows) {
    const std::string name(row.name);
    const auto* value = pb::Reason_descriptor()->FindValueByName("REASON_" + name);
    ASSERT_NE(value, nullptr) << name;
    EXPECT_EQ(value->number(), static_cast<int>(row.reason) + 1) << name;
    const pb::ReasonRules& rules = RulesOf(row.reason);
    EXPECT_EQ(rules.status(), absl::StatusCodeToString(row.status)) << name;
    EXPECT_EQ(rules.code(), std::string(row.code)) << name;
    EXPECT_EQ(static_cast<int>(rules.retry()), static_cast<int>(row.retry) + 1) << name;
    EXPECT_EQ(rules.reserved(), row.reserved) << name;
  }
}

TEST(ApiRules, EveryReasonIsDeclaredUnlessItIsReserved) {
  std::set<std::string> declared = ReasonsOf(pb::REASON_GROUP_ANY_CALL);
  for (const MethodDescriptor* method : ApiMethods()) declared.merge(ReasonsOf(*method));
  for (const ReasonRow& row : kReasonRows) {
    EXPECT_EQ(declared.contains(std::string(row.name)), !row.reserved) << row.name;
  }
}

TEST(ApiRules, AMethodDeclaresAReasonOnce) {
  for (const MethodDescriptor* method : ApiMethods()) {
    size_t listed = RulesOf(*method).reasons_size();
    for (const int group : RulesOf(*method).groups()) {
      listed += ReasonsOf(static_cast<pb::ReasonGroup>(group)).size();
    }
    const auto groups = RulesOf(*method).groups();
    // Both groups have RESUME_MISMATCH: of the session, and of its token.
    const bool both = std::count(groups.begin(), groups.end(), pb::REASON_GROUP_SESSION) > 0 &&
                      std::count(groups.begin(), groups.end(), pb::REASON_GROUP_LEASE) > 0;
    EXPECT_EQ(listed, ReasonsOf(*method).size() + (both ? 1 : 0)) << method->name();
    std::set<std::string> common = ReasonsOf(pb::REASON_GROUP_ANY_CALL);
    for (const std::string& reason : ReasonsOf(*method)) {
      EXPECT_FALSE(common.contains(reason)) << method->name() << " " << reason;
    }
  }
}

TEST(ApiRules, EveryMethodDeclaresAPermission) {
  for (const MethodDescriptor* method : ApiMethods()) {
    EXPECT_NE(RulesOf(*method).permission(), pb::PERMISSION_UNSPECIFIED) << method->name();
  }
}

// A token that is a required field is needed, one that is optional is checked where it is sent. The
// first request of AppendJournalStream has it, so that it is optional in each.
TEST(ApiRules, LeaseUseFollowsFromTheFieldOfTheToken) {
  for (const MethodDescriptor* method : ApiMethods()) {
    pb::LeaseUse use = pb::LEASE_USE_UNSPECIFIED;
    for (const FieldDescriptor* field : FieldsOf(*method, "lease_token")) {
      const bool required = method->name() == "AppendJournalStream" ||
                            BehaviorsOf(*field).contains(google::api::REQUIRED);
      use = required ? pb::LEASE_USE_REQUIRED : pb::LEASE_USE_OPTIONAL;
    }
    EXPECT_EQ(RulesOf(*method).lease(), use) << method->name();
    const auto groups = RulesOf(*method).groups();
    const bool lease = std::count(groups.begin(), groups.end(), pb::REASON_GROUP_LEASE) > 0;
    if (use == pb::LEASE_USE_OPTIONAL) continue;
    EXPECT_EQ(lease, use == pb::LEASE_USE_REQUIRED) << method->name();
  }
}

// A mutation is made idempotent by its request id.
TEST(ApiRules, IdempotencyFollowsFromTheRequestId) {
  const std::set<std::string> by_nature = {
      "AppendJournal",        // turn and number identify an entry
      "AppendJournalStream",  // likewise
      "RenewLeases",          // a repeat renews again
      "CheckStore",           // removes what it writes
  };
  for (const MethodDescriptor* method : ApiMethods()) {
    const bool mutates =
        !FieldsOf(*method, "request_id").empty() || by_nature.contains(method->name());
    EXPECT_EQ(method->options().idempotency_level(),
              mutates ? MethodOptions::IDEMPOTENT : MethodOptions::NO_SIDE_EFFECTS)
        << method->name();
  }
}

TEST(ApiRules, OnlyUnaryMethodsDeclareADeadline) {
  for (const MethodDescriptor* method : ApiMethods()) {
    EXPECT_FALSE(IsStream(*method) && RulesOf(*method).has_timeout()) << method->name();
  }
}

}  // namespace
}  // namespace holdfast::test
