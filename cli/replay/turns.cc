#include "cli/replay/turns.h"

namespace holdfast::cli {
namespace {

bool EndsTurn(const RecordedMessage& message) {
  return message.role == "assistant" && message.tool_calls.empty();
}

}  // namespace

std::vector<TurnSpan> SplitTurns(const std::vector<RecordedMessage>& messages, size_t first) {
  std::vector<TurnSpan> turns;
  size_t begin = first;
  for (size_t i = first; i < messages.size(); ++i) {
    const bool last = i + 1 == messages.size();
    if (!EndsTurn(messages[i]) && !last) continue;
    turns.push_back({.begin = begin, .end = i + 1});
    begin = i + 1;
  }
  return turns;
}

}  // namespace holdfast::cli
