#include "cli/replay/turns.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One letter a message: s system, u user, c an assistant that calls a tool, t the tool's result, a
// an answer.
std::vector<RecordedMessage> Messages(const std::string& letters) {
  std::vector<RecordedMessage> messages;
  for (const char letter : letters) {
    RecordedMessage& message = messages.emplace_back();
    message.role = letter == 's'   ? "system"
                   : letter == 'u' ? "user"
                   : letter == 't' ? "tool"
                                   : "assistant";
    if (letter == 'c') message.tool_calls.push_back({.id = "call", .text = "{}"});
  }
  return messages;
}

// The turns as the letters of each.
std::vector<std::string> Turns(const std::string& letters, size_t first = 0) {
  std::vector<std::string> turns;
  for (const TurnSpan& turn : SplitTurns(Messages(letters), first)) {
    turns.push_back(letters.substr(turn.begin, turn.end - turn.begin));
  }
  return turns;
}

TEST(Turns, AUserBeginsAndAnAnswerEnds) { EXPECT_THAT(Turns("uaua"), ElementsAre("ua", "ua")); }

TEST(Turns, ALeadingSystemMessageBelongsToTheFirst) {
  EXPECT_THAT(Turns("suaua"), ElementsAre("sua", "ua"));
}

TEST(Turns, ToolUseIsPartOfTheTurn) { EXPECT_THAT(Turns("uctctaua"), ElementsAre("uctcta", "ua")); }

TEST(Turns, UsersWhoWereNotAnsweredShareATurn) {
  EXPECT_THAT(Turns("uuaua"), ElementsAre("uua", "ua"));
  EXPECT_THAT(Turns("uctua"), ElementsAre("uctua"));
}

TEST(Turns, WhatIsLeftWithoutAnAnswerIsTheLastTurn) {
  EXPECT_THAT(Turns("uau"), ElementsAre("ua", "u"));
  EXPECT_THAT(Turns("uauct"), ElementsAre("ua", "uct"));
  EXPECT_THAT(Turns("s"), ElementsAre("s"));
}

TEST(Turns, KeepsAnswerWithoutQuestion) {
  EXPECT_THAT(Turns("aua"), ElementsAre("a", "ua"));
  EXPECT_THAT(Turns("uaa"), ElementsAre("ua", "a"));
}

TEST(Turns, NoMessagesAreNoTurns) { EXPECT_THAT(Turns(""), IsEmpty()); }

TEST(Turns, AResumedReplayGoesOnBehindWhatIsCommitted) {
  EXPECT_THAT(Turns("suaua", 3), ElementsAre("ua"));
  EXPECT_THAT(Turns("suaua", 4), ElementsAre("a"));
  EXPECT_THAT(Turns("suaua", 5), IsEmpty());
}

}  // namespace
}  // namespace holdfast::cli
