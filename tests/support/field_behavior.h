// What a field of the wire is annotated with.
#ifndef HOLDFAST_TESTS_SUPPORT_FIELD_BEHAVIOR_H_
#define HOLDFAST_TESTS_SUPPORT_FIELD_BEHAVIOR_H_

#include "google/api/field_behavior.pb.h"

#include <google/protobuf/descriptor.h>

#include <set>

namespace holdfast::test {

// The values of google.api.FieldBehavior that `field` has.
inline std::set<int> BehaviorsOf(const google::protobuf::FieldDescriptor& field) {
  std::set<int> behaviors;
  const auto& options = field.options();
  for (int i = 0; i < options.ExtensionSize(google::api::field_behavior); ++i) {
    behaviors.insert(options.GetExtension(google::api::field_behavior, i));
  }
  return behaviors;
}

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_SUPPORT_FIELD_BEHAVIOR_H_
