// Every field that a client may send says how it behaves, for generated clients and documents.
#include "tests/support/field_behavior.h"

#include "holdfast/v1/admin_service.pb.h"
#include "holdfast/v1/session_service.pb.h"
#include "holdfast/v1/store_service.pb.h"

#include "gtest/gtest.h"

#include <set>
#include <string>

namespace holdfast::test {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::ServiceDescriptor;

// Adds `message` and those within it that are ours. What the server gives alone is not followed.
void AddMessages(const Descriptor& message, std::set<const Descriptor*>& all) {
  const bool ours = message.file()->package() == "holdfast.v1";
  if (!ours || message.options().map_entry() || !all.insert(&message).second) return;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (BehaviorsOf(field).contains(google::api::OUTPUT_ONLY)) continue;
    if (field.message_type() != nullptr) AddMessages(*field.message_type(), all);
  }
}

TEST(FieldBehavior, IsSaidOfEveryFieldOfARequest) {
  const auto& pool = *google::protobuf::DescriptorPool::generated_pool();
  std::set<const Descriptor*> messages;
  for (const char* const name : {"AdminService", "ItemService", "SessionService", "StoreService"}) {
    const ServiceDescriptor* const service =
        pool.FindServiceByName(std::string("holdfast.v1.") + name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      AddMessages(*service->method(i)->input_type(), messages);
    }
  }
  EXPECT_GT(messages.size(), 40U);
  for (const Descriptor* const message : messages) {
    for (int i = 0; i < message->field_count(); ++i) {
      std::set<int> behaviors = BehaviorsOf(*message->field(i));
      const std::string name = message->field(i)->full_name();
      behaviors.erase(google::api::IMMUTABLE);
      ASSERT_EQ(behaviors.size(), 1U) << name;
      const int behavior = *behaviors.begin();
      EXPECT_TRUE(behavior == google::api::REQUIRED || behavior == google::api::OPTIONAL ||
                  behavior == google::api::OUTPUT_ONLY)
          << name << " is " << google::api::FieldBehavior_Name(behavior);
    }
  }
}

}  // namespace
}  // namespace holdfast::test
