#include "tests/golden/proto_comments.h"

#include "tests/support/temp_dir.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstdlib>
#include <fstream>
#include <vector>

namespace holdfast::test {
namespace {

using Comments = std::map<std::string, std::string>;

template <typename Element>
void Add(const Element& element, Comments& comments) {
  google::protobuf::SourceLocation location;
  if (!element.GetSourceLocation(&location)) return;
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(location.leading_comments, '\n')) {
    if (const absl::string_view text = absl::StripAsciiWhitespace(line); !text.empty()) {
      lines.emplace_back(text);
    }
  }
  comments[element.full_name()] = absl::StrJoin(lines, " ");
}

void AddEnum(const google::protobuf::EnumDescriptor& type, Comments& comments) {
  Add(type, comments);
  for (int i = 0; i < type.value_count(); ++i) Add(*type.value(i), comments);
}

void AddMessage(const google::protobuf::Descriptor& type, Comments& comments) {
  Add(type, comments);
  for (int i = 0; i < type.field_count(); ++i) Add(*type.field(i), comments);
  for (int i = 0; i < type.nested_type_count(); ++i) AddMessage(*type.nested_type(i), comments);
  for (int i = 0; i < type.enum_type_count(); ++i) AddEnum(*type.enum_type(i), comments);
}

void AddFile(const google::protobuf::FileDescriptor& file, Comments& comments) {
  for (int i = 0; i < file.message_type_count(); ++i) AddMessage(*file.message_type(i), comments);
  for (int i = 0; i < file.enum_type_count(); ++i) AddEnum(*file.enum_type(i), comments);
  for (int s = 0; s < file.service_count(); ++s) {
    Add(*file.service(s), comments);
    for (int m = 0; m < file.service(s)->method_count(); ++m) {
      Add(*file.service(s)->method(m), comments);
    }
  }
}

}  // namespace

ProtoComments::ProtoComments(const std::string& folder) {
  const TempDir temporary;
  const std::string set = temporary / "comments.protoset";
  const std::string command =
      absl::StrCat("protoc --include_imports --include_source_info --descriptor_set_out=", set,
                   " -I ", folder, " ", folder, "/holdfast/v1/*.proto");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  google::protobuf::FileDescriptorSet files;
  std::ifstream stream(set, std::ios::binary);
  EXPECT_TRUE(files.ParseFromIstream(&stream)) << set;
  // Imported files come before those that import them.
  google::protobuf::DescriptorPool pool;
  for (const auto& file : files.file()) {
    const auto* built = pool.BuildFile(file);
    EXPECT_NE(built, nullptr) << file.name();
    if (built != nullptr && built->package() == "holdfast.v1") AddFile(*built, comments_);
  }
}

std::string ProtoComments::Of(const std::string& full_name) const {
  const auto found = comments_.find(full_name);
  return found == comments_.end() ? "" : found->second;
}

}  // namespace holdfast::test
