// Recorded conversations: JSON lines {"id", "messages": [...]} in the OpenAI chat shape.
#ifndef HOLDFAST_CLI_REPLAY_RECORDING_H_
#define HOLDFAST_CLI_REPLAY_RECORDING_H_

#include "absl/status/statusor.h"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// A tool use that an assistant message asks for.
struct RecordedToolCall {
  std::string id;
  std::string text;  // the call's own JSON, as it is in the file
};

struct RecordedMessage {
  std::string text;  // the message's JSON, byte for byte as it is in the file
  std::string role;
  std::vector<RecordedToolCall> tool_calls;
  std::string tool_call_id;  // of a tool's result
};

struct Conversation {
  std::string id;
  std::string project_root;  // the directory of its file; of a pipe, the working directory
  std::vector<RecordedMessage> messages;
};

// The conversation in one line. An error says what is missing or malformed.
absl::StatusOr<Conversation> ParseConversation(std::string_view line);

// All conversations of `files`, in order. INVALID_ARGUMENT with file and line for one that is
// malformed or whose id occurs twice (they would meet in one session), NOT_FOUND for a file that
// cannot be read.
absl::StatusOr<std::vector<Conversation>> ReadRecordings(const std::vector<std::string>& files);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_RECORDING_H_
