// A history as a conversation: a heading with the role of each message, and its text below.
#ifndef HOLDFAST_CLI_CONVERSATION_VIEW_H_
#define HOLDFAST_CLI_CONVERSATION_VIEW_H_

#include "cli/chat_message.h"
#include "cli/terminal.h"
#include "holdfast/v1/session.pb.h"

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::cli {

struct ConversationLayout {
  std::size_t columns = 80;     // of a line; a narrower terminal than 20 counts as 20
  std::size_t tool_lines = 12;  // of one tool call or result; 0: all
};

// Writes messages in turn. A body of type application/json in the OpenAI chat shape is shown as
// text; any other is named by its type and size. Nothing that was stored reaches the output as a
// control character. For one thread.
class ConversationWriter final {
 public:
  ConversationWriter(std::ostream& out, const ConversationLayout& layout, const Painter& painter);

  void Write(const v1::Message& message);

 private:
  using Lines = std::vector<std::string>;

  void WriteHeading(const v1::Message& message, const ChatMessage& chat);
  void WriteBody(const v1::Message& message, const ChatMessage& chat);
  void WriteCall(const ChatToolCall& call);
  // Of the texts of a tool, which are shortened.
  void WriteShortened(const Lines& lines, std::size_t indent);
  void WriteLines(const Lines& lines, std::size_t indent);
  void WriteRemark(const std::string& remark, std::size_t indent);

  std::ostream& out_;
  const std::size_t columns_;
  const std::size_t tool_lines_;
  const Painter painter_;
  bool first_ = true;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_CONVERSATION_VIEW_H_
