// Where the turns of a recorded conversation begin and end.
#ifndef HOLDFAST_CLI_REPLAY_TURNS_H_
#define HOLDFAST_CLI_REPLAY_TURNS_H_

#include "cli/replay/recording.h"

#include <cstddef>
#include <vector>

namespace holdfast::cli {

// The messages [begin, end) of a conversation.
struct TurnSpan {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const TurnSpan&) const = default;
};

// The turns of `messages` from the message `first` on: every message is in exactly one. A turn ends
// with the agent's answer, that is an assistant message without tool calls; so users who speak
// twice before they are answered share a turn, and so does a leading system message with the user
// behind it. What is left without an answer is the last turn.
std::vector<TurnSpan> SplitTurns(const std::vector<RecordedMessage>& messages, size_t first = 0);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLI_REPLAY_TURNS_H_
