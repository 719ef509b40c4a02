// A message body in the OpenAI chat shape, which recordings have and `holdfast replay` stores.
#ifndef HOLDFAST_CLI_CHAT_MESSAGE_H_
#define HOLDFAST_CLI_CHAT_MESSAGE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// A tool call. `arguments` is the text that the tool is given, mostly a JSON object.
struct ChatToolCall {
  std::string name;
  std::string id;
  std::string arguments;
};

// A part of a message: its text, or its type and size when it is no text.
struct ChatPart {
  std::string text;
  std::string type;  // empty for a text
  std::size_t bytes = 0;
};

struct ChatMessage {
  std::vector<ChatPart> parts;
  std::vector<ChatToolCall> calls;
  std::string name;          // of the tool whose result it is
  std::string tool_call_id;  // of a tool's result
};

// The message in `json`; nullopt when it is no object with the member `content`, `tool_calls` or
// `refusal`, or one of them is of another type than the shape has.
std::optional<ChatMessage> ParseChatMessage(std::string_view json);

// The tool call in `json`; nullopt when it is no object with a `function`.
std::optional<ChatToolCall> ParseToolCall(std::string_view json);

// An argument of a tool call: the text of a string, and any other value as it is written.
struct ChatArgument {
  std::string name;
  std::string value;
};

// The arguments of a call by name; nullopt when `arguments` is no JSON object.
std::optional<std::vector<ChatArgument>> ParseArguments(std::string_view arguments);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_CHAT_MESSAGE_H_
