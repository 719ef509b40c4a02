#include "cli/replay/recording.h"

#include "cli/replay/replay.h"
#include "cli/replay/turns.h"
#include "tests/support/temp_dir.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <thread>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRecorded[] = "tests/data/conversation.jsonl";

std::string WhyRefused(const std::string& line) {
  return std::string(ParseConversation(line).status().message());
}

TEST(Recording, AMessageIsItsTextInTheLine) {
  const auto conversation =
      ParseConversation(R"({"messages":[ {"role" : "user", "content":"\u00e9"} ],"id":"x"})");
  ASSERT_TRUE(conversation.ok()) << conversation.status();
  EXPECT_EQ(conversation->id, "x");
  ASSERT_EQ(conversation->messages.size(), 1);
  EXPECT_EQ(conversation->messages[0].text, R"({"role" : "user", "content":"\u00e9"})");
  EXPECT_EQ(conversation->messages[0].role, "user");
}

TEST(Recording, ToolCallsAndResultsCarryTheirIds) {
  const auto conversation =
      ParseConversation(R"({"id":"x","messages":[)"
                        R"({"role":"assistant","tool_calls":[{"id":"c1","n":1.0},{"id":"c2"}]},)"
                        R"({"role":"tool","tool_call_id":"c1"}]})");
  ASSERT_TRUE(conversation.ok()) << conversation.status();
  const RecordedMessage& assistant = conversation->messages[0];
  ASSERT_EQ(assistant.tool_calls.size(), 2);
  EXPECT_EQ(assistant.tool_calls[0].id, "c1");
  EXPECT_EQ(assistant.tool_calls[0].text, R"({"id":"c1","n":1.0})");
  EXPECT_EQ(conversation->messages[1].tool_call_id, "c1");
}

TEST(Recording, MalformedLinesSayWhy) {
  EXPECT_EQ(WhyRefused("[1]"), "not a JSON object");
  EXPECT_EQ(WhyRefused(R"({"messages":[]})"), "id is missing or not a text");
  EXPECT_EQ(WhyRefused(R"({"id":7,"messages":[]})"), "id is missing or not a text");
  EXPECT_EQ(WhyRefused(R"({"id":"x"})"), "messages is missing or not a list");
  EXPECT_EQ(WhyRefused(R"({"id":"x","messages":{}})"), "messages is missing or not a list");
  EXPECT_EQ(WhyRefused(R"({"id":"x","messages":[1]})"), "messages[0] is not an object");
  EXPECT_EQ(WhyRefused(R"({"id":"x","messages":[{"role":"user"},{}]})"),
            "messages[1].role is missing");
  EXPECT_EQ(WhyRefused(R"({"id":"x","messages":[{"role":"a","tool_calls":1}]})"),
            "messages[0].tool_calls is not a list");
  EXPECT_TRUE(ParseConversation(R"({"id":"x","messages":[{"role":"a","tool_calls":null}]})").ok());
}

TEST(Recording, OurOwnConversationsAreReadWhole) {
  const auto recordings = ReadRecordings({kRecorded});
  ASSERT_TRUE(recordings.ok()) << recordings.status();
  size_t turns = 0;
  size_t messages = 0;
  for (const Conversation& conversation : *recordings) {
    turns += SplitTurns(conversation.messages).size();
    messages += conversation.messages.size();
  }
  EXPECT_EQ(recordings->size(), 3);
  EXPECT_EQ(turns, 7);
  EXPECT_EQ(messages, 27);
  EXPECT_EQ((*recordings)[0].project_root, std::filesystem::absolute("tests/data"));
}

// Every message's text must be found in the file in order, or it was changed.
TEST(Recording, FindsTextOfEveryMessageInFile) {
  std::ifstream in(kRecorded);
  std::stringstream file;
  file << in.rdbuf();
  const std::string text = file.str();
  size_t at = 0;
  const auto recordings = ReadRecordings({kRecorded});
  ASSERT_TRUE(recordings.ok()) << recordings.status();
  for (const Conversation& conversation : *recordings) {
    for (const RecordedMessage& message : conversation.messages) {
      at = text.find(message.text, at);
      ASSERT_NE(at, std::string::npos) << message.text;
      at += message.text.size();
    }
  }
}

TEST(Recording, AnIdThatOccursTwiceIsRefusedByFileAndLine) {
  const auto recordings = ReadRecordings({kRecorded, kRecorded});
  EXPECT_EQ(recordings.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(recordings.status().message()),
              HasSubstr("conversation.jsonl:1: the id greenhouse occurs twice"));
}

TEST(Recording, AFileThatCannotBeReadSaysWhy) {
  EXPECT_EQ(ReadRecordings({"tests/data/none.jsonl"}).status().message(),
            "tests/data/none.jsonl: cannot be read: No such file or directory");
  EXPECT_EQ(ReadRecordings({"tests/data"}).status().message(),
            "tests/data: cannot be read: Is a directory");
}

// A pipe lies in no project.
TEST(Recording, WhatComesThroughAPipeIsOfTheWorkingDirectory) {
  const test::TempDir directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::jthread writer([&] { std::ofstream(pipe) << std::ifstream(kRecorded).rdbuf(); });
  const auto recordings = ReadRecordings({pipe});
  ASSERT_TRUE(recordings.ok()) << recordings.status();
  ASSERT_EQ(recordings->size(), 3);
  EXPECT_EQ(recordings->front().project_root, std::filesystem::current_path());
}

TEST(Recording, ARepeatedConversationHasSessionsOfItsOwn) {
  const std::vector<Conversation> conversations = {{.id = "a"}, {.id = "b"}};
  std::vector<std::string> ids;
  for (const ReplayTask& task : TasksOf(conversations, "run", 2)) ids.push_back(task.session_id);
  EXPECT_THAT(ids, ElementsAre("a-run", "b-run", "a-run-r2", "b-run-r2"));
}

TEST(Recording, WhatCannotBeASessionIdIsNamed) {
  const std::vector<Conversation> conversations = {{.id = "a"}, {.id = "b/c"}};
  std::string wrong;
  EXPECT_FALSE(AreSessionIds(TasksOf(conversations, "run", 1), wrong));
  EXPECT_EQ(wrong, "b/c-run");
  EXPECT_FALSE(AreSessionIds(TasksOf({conversations[0]}, std::string(130, 'x'), 1), wrong));
  const std::vector<Conversation> fine = {conversations[0]};
  EXPECT_TRUE(AreSessionIds(TasksOf(fine, "r.u_n-1", 3), wrong));
}

}  // namespace
}  // namespace holdfast::cli
