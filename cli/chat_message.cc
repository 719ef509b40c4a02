#include "cli/chat_message.h"

#include "cli/json_spans.h"

namespace holdfast::cli {
namespace {

using Members = std::vector<JsonMember>;

// The value of `key`; nullopt when it is absent or null.
std::optional<std::string_view> ValueIn(const Members& members, std::string_view key) {
  const std::optional<std::string_view> value = ValueOf(members, key);
  return value == "null" ? std::nullopt : value;
}

// The text of `key`; empty when it is absent or no string.
std::string TextIn(const Members& members, std::string_view key) {
  const std::optional<std::string_view> value = ValueIn(members, key);
  return value ? StringOf(*value).value_or("") : "";
}

// The text of the JSON value `value`: that of a string, else the value as it is written.
std::string TextOf(std::string_view value) { return StringOf(value).value_or(std::string(value)); }

ChatPart PartOf(std::string_view json) {
  if (const auto text = StringOf(json)) return {.text = *text};
  const Members members = MembersOf(json).value_or(Members());
  const std::optional<std::string_view> text = ValueIn(members, "text");
  if (text && StringOf(*text)) return {.text = *StringOf(*text)};
  const std::string type = TextIn(members, "type");
  return {.type = type.empty() ? "part of unknown type" : type, .bytes = json.size()};
}

// False when `content` is neither a string nor a list of parts.
bool AddContent(std::string_view content, ChatMessage& message) {
  if (const auto text = StringOf(content)) {
    if (!text->empty()) message.parts.push_back({.text = *text});
    return true;
  }
  const auto parts = ElementsOf(content);
  if (!parts) return false;
  for (const std::string_view part : *parts) message.parts.push_back(PartOf(part));
  return true;
}

bool AddCalls(std::string_view calls, ChatMessage& message) {
  const auto list = ElementsOf(calls);
  if (!list) return false;
  for (const std::string_view json : *list) {
    std::optional<ChatToolCall> call = ParseToolCall(json);
    if (!call) return false;
    message.calls.push_back(*std::move(call));
  }
  return true;
}

}  // namespace

std::optional<ChatToolCall> ParseToolCall(std::string_view json) {
  const std::optional<Members> members = MembersOf(json);
  const auto function = members ? ValueIn(*members, "function") : std::nullopt;
  const std::optional<Members> parts = function ? MembersOf(*function) : std::nullopt;
  if (!parts) return std::nullopt;
  const std::optional<std::string_view> arguments = ValueIn(*parts, "arguments");
  return ChatToolCall{.name = TextIn(*parts, "name"),
                      .id = TextIn(*members, "id"),
                      .arguments = arguments ? TextOf(*arguments) : ""};
}

std::optional<ChatMessage> ParseChatMessage(std::string_view json) {
  const std::optional<Members> members = MembersOf(json);
  if (!members) return std::nullopt;
  const bool known = ValueOf(*members, "content") || ValueOf(*members, "tool_calls") ||
                     ValueOf(*members, "refusal");
  if (!known) return std::nullopt;
  ChatMessage message{.name = TextIn(*members, "name"),
                      .tool_call_id = TextIn(*members, "tool_call_id")};
  const std::optional<std::string_view> content = ValueIn(*members, "content");
  const std::optional<std::string_view> calls = ValueIn(*members, "tool_calls");
  if (content && !AddContent(*content, message)) return std::nullopt;
  if (calls && !AddCalls(*calls, message)) return std::nullopt;
  if (const std::string refusal = TextIn(*members, "refusal"); !refusal.empty()) {
    message.parts.push_back({.text = "refusal: " + refusal});
  }
  return message;
}

std::optional<std::vector<ChatArgument>> ParseArguments(std::string_view arguments) {
  const std::optional<Members> members = MembersOf(arguments);
  if (!members) return std::nullopt;
  std::vector<ChatArgument> list;
  list.reserve(members->size());
  for (const JsonMember& member : *members) {
    list.push_back({.name = member.key, .value = TextOf(member.value)});
  }
  return list;
}

}  // namespace holdfast::cli
