#include "cli/conversation_view.h"

#include "cli/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace holdfast::cli {
namespace {

constexpr size_t kLeastColumns = 20;
constexpr size_t kBodyIndent = 4;
constexpr size_t kCallIndent = 6;
constexpr size_t kValueIndent = 2;
// Of a name in a heading.
constexpr size_t kNameColumns = 64;

Style StyleOf(std::string_view role) {
  if (role == "user") return Style::kGreen;
  if (role == "assistant") return Style::kCyan;
  if (role == "tool") return Style::kYellow;
  return role == "system" || role == "developer" ? Style::kMagenta : Style::kBold;
}

std::string Name(std::string_view text) { return Cut(Printable(text), kNameColumns); }

// For example "image/png, 2048 bytes".
std::string TypeAndSize(std::string_view type, size_t bytes) {
  return absl::StrCat("[", Name(type), ", ", bytes, bytes == 1 ? " byte]" : " bytes]");
}

bool IsJson(const v1::Message& message) {
  return message.content_type().empty() || message.content_type() == "application/json";
}

void Append(const std::vector<std::string>& more, size_t indent, std::vector<std::string>& lines) {
  for (const std::string& line : more) {
    lines.push_back(line.empty() ? "" : std::string(indent, ' ') + line);
  }
}

// `name: value`, a value that takes more than one line below its name.
void AddArgument(const ChatArgument& argument, size_t width, std::vector<std::string>& lines) {
  const bool many_lines = argument.value.find('\n') != std::string::npos;
  const std::vector<std::string> whole = Wrap(argument.name + ": " + argument.value, width);
  if (!many_lines && whole.size() <= 1) return Append(whole, 0, lines);
  Append(Wrap(argument.name + ":", width), 0, lines);
  Append(Wrap(argument.value, width - kValueIndent), kValueIndent, lines);
}

std::vector<std::string> LinesOf(const ChatToolCall& call, size_t width) {
  const std::optional<std::vector<ChatArgument>> arguments = ParseArguments(call.arguments);
  if (!arguments) return Wrap(call.arguments, width);
  std::vector<std::string> lines;
  for (const ChatArgument& argument : *arguments) AddArgument(argument, width, lines);
  return lines;
}

}  // namespace

ConversationWriter::ConversationWriter(std::ostream& out, const ConversationLayout& layout,
                                       const Painter& painter)
    : out_(out),
      columns_(std::max(layout.columns, kLeastColumns)),
      tool_lines_(layout.tool_lines),
      painter_(painter) {}

void ConversationWriter::Write(const v1::Message& message) {
  if (!std::exchange(first_, false)) out_ << '\n';
  const std::optional<ChatMessage> chat =
      IsJson(message) ? ParseChatMessage(message.data()) : std::nullopt;
  WriteHeading(message, chat.value_or(ChatMessage()));
  if (chat) {
    WriteBody(message, *chat);
  } else {
    const std::string& type = message.content_type();
    WriteRemark(TypeAndSize(type.empty() ? "application/json" : type, message.data().size()),
                kBodyIndent);
  }
}

void ConversationWriter::WriteHeading(const v1::Message& message, const ChatMessage& chat) {
  const std::string role = message.role().empty() ? "(no role)" : Name(message.role());
  out_ << painter_.Paint(StyleOf(message.role()), absl::StrCat(message.seq(), "  ", role));
  if (!chat.name.empty()) out_ << "  " << Name(chat.name);
  if (!chat.tool_call_id.empty()) {
    out_ << "  " << painter_.Paint(Style::kDim, Name(chat.tool_call_id));
  }
  out_ << '\n';
}

void ConversationWriter::WriteBody(const v1::Message& message, const ChatMessage& chat) {
  const bool shortened = message.role() == "tool" || !chat.tool_call_id.empty();
  for (const ChatPart& part : chat.parts) {
    if (!part.type.empty()) {
      WriteRemark(TypeAndSize(part.type, part.bytes), kBodyIndent);
      continue;
    }
    const Lines lines = Wrap(part.text, columns_ - kBodyIndent);
    shortened ? WriteShortened(lines, kBodyIndent) : WriteLines(lines, kBodyIndent);
  }
  if (!chat.parts.empty() && !chat.calls.empty()) out_ << '\n';
  for (const ChatToolCall& call : chat.calls) WriteCall(call);
  if (chat.parts.empty() && chat.calls.empty()) WriteRemark("[empty]", kBodyIndent);
}

void ConversationWriter::WriteCall(const ChatToolCall& call) {
  out_ << std::string(kBodyIndent, ' ') << "calls "
       << painter_.Paint(StyleOf("tool"), call.name.empty() ? "(no name)" : Name(call.name));
  if (!call.id.empty()) out_ << "  " << painter_.Paint(Style::kDim, Name(call.id));
  out_ << '\n';
  WriteShortened(LinesOf(call, columns_ - kCallIndent), kCallIndent);
}

void ConversationWriter::WriteShortened(const Lines& lines, size_t indent) {
  // A remark in place of a single line would shorten nothing.
  if (tool_lines_ == 0 || lines.size() <= tool_lines_ + 1) return WriteLines(lines, indent);
  WriteLines({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(tool_lines_)}, indent);
  WriteRemark(
      absl::StrCat("[", lines.size() - tool_lines_, " more lines; --tool-lines 0 prints all]"),
      indent);
}

void ConversationWriter::WriteLines(const Lines& lines, size_t indent) {
  for (const std::string& line : lines) {
    out_ << (line.empty() ? "" : std::string(indent, ' ') + line) << '\n';
  }
}

void ConversationWriter::WriteRemark(const std::string& remark, size_t indent) {
  out_ << std::string(indent, ' ') << painter_.Paint(Style::kDim, remark) << '\n';
}

}  // namespace holdfast::cli
