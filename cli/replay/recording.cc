#include "cli/replay/recording.h"

#include "cli/json_spans.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace holdfast::cli {
namespace {

using Members = std::vector<JsonMember>;

std::string StringMember(const Members& members, std::string_view key) {
  const std::optional<std::string_view> value = ValueOf(members, key);
  return value ? StringOf(*value).value_or("") : "";
}

// A value that is absent or null is an empty list; nullopt when it is anything else but a list.
std::optional<std::vector<std::string_view>> ListMember(const Members& members,
                                                        std::string_view key) {
  const std::optional<std::string_view> value = ValueOf(members, key);
  if (!value || *value == "null") return std::vector<std::string_view>();
  return ElementsOf(*value);
}

absl::Status Malformed(const std::string& why) { return absl::InvalidArgumentError(why); }

absl::StatusOr<RecordedMessage> ParseMessage(std::string_view text, const std::string& name) {
  const std::optional<Members> members = MembersOf(text);
  if (!members) return Malformed(name + " is not an object");
  RecordedMessage message{.text = std::string(text),
                          .role = StringMember(*members, "role"),
                          .tool_call_id = StringMember(*members, "tool_call_id")};
  if (message.role.empty()) return Malformed(name + ".role is missing");
  const auto calls = ListMember(*members, "tool_calls");
  if (!calls) return Malformed(name + ".tool_calls is not a list");
  for (const std::string_view call : *calls) {
    const std::optional<Members> parts = MembersOf(call);
    if (!parts) return Malformed(name + ".tool_calls has an entry that is not an object");
    message.tool_calls.push_back({.id = StringMember(*parts, "id"), .text = std::string(call)});
  }
  return message;
}

absl::Status Unreadable(const std::string& file, int error) {
  return absl::NotFoundError(
      absl::StrCat(file, ": cannot be read: ", std::generic_category().message(error)));
}

// The directory of `file`; of what is no file, such as a pipe, the working directory.
std::string ProjectRootOf(const std::string& file) {
  if (!std::filesystem::is_regular_file(file)) return std::filesystem::current_path();
  return std::filesystem::absolute(file).lexically_normal().parent_path();
}

// Adds the conversations of `file`; `ids` are those already seen.
absl::Status ReadFile(const std::string& file, std::set<std::string>& ids,
                      std::vector<Conversation>& conversations) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Unreadable(file, errno);
  const std::string root = ProjectRootOf(file);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    absl::StatusOr<Conversation> conversation = ParseConversation(line);
    const std::string where = absl::StrCat(file, ":", number, ": ");
    if (!conversation.ok()) {
      return Malformed(absl::StrCat(where, conversation.status().message()));
    }
    if (!ids.insert(conversation->id).second) {
      return Malformed(absl::StrCat(where, "the id ", conversation->id, " occurs twice"));
    }
    conversation->project_root = root;
    conversations.push_back(*std::move(conversation));
  }
  if (in.bad()) return Unreadable(file, errno);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Conversation> ParseConversation(std::string_view line) {
  const std::optional<Members> members = MembersOf(line);
  if (!members) return Malformed("not a JSON object");
  Conversation conversation{.id = StringMember(*members, "id")};
  if (conversation.id.empty()) return Malformed("id is missing or not a text");
  const std::optional<std::string_view> list = ValueOf(*members, "messages");
  const auto messages = list ? ElementsOf(*list) : std::nullopt;
  if (!messages) return Malformed("messages is missing or not a list");
  for (const std::string_view text : *messages) {
    const std::string name = absl::StrCat("messages[", conversation.messages.size(), "]");
    absl::StatusOr<RecordedMessage> message = ParseMessage(text, name);
    if (!message.ok()) return message.status();
    conversation.messages.push_back(*std::move(message));
  }
  return conversation;
}

absl::StatusOr<std::vector<Conversation>> ReadRecordings(const std::vector<std::string>& files) {
  std::vector<Conversation> conversations;
  std::set<std::string> ids;
  for (const std::string& file : files) {
    absl::Status read = ReadFile(file, ids, conversations);
    if (!read.ok()) return read;
  }
  return conversations;
}

}  // namespace holdfast::cli
