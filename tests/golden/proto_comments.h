// The comments of .proto files, which compiled descriptors do not have.
#ifndef HOLDFAST_TESTS_GOLDEN_PROTO_COMMENTS_H_
#define HOLDFAST_TESTS_GOLDEN_PROTO_COMMENTS_H_

#include <map>
#include <string>

namespace holdfast::test {

class ProtoComments {
 public:
  // Parses all files of holdfast.v1 below `folder`.
  explicit ProtoComments(const std::string& folder);

  // The comment before the message, field, enum, value or method of this full name, as one line.
  // Empty when it has none.
  [[nodiscard]] std::string Of(const std::string& full_name) const;

 private:
  std::map<std::string, std::string> comments_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TESTS_GOLDEN_PROTO_COMMENTS_H_
