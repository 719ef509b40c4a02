#include "cli/app.h"

#include "cli/exit_code.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Port 1 of this machine: nothing listens there.
constexpr char kDeadAddress[] = "127.0.0.1:1";
constexpr char kOwn[] = "tests/data/conversation.jsonl";

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran Holdfast(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = Run(arguments, out, err);
  return {.code = code, .out = out.str(), .err = err.str()};
}

TEST(App, WhatIsNotUnderstoodIsUsage) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"nonsense"},
      {"session"},
      {"session", "show"},
      {"session", "show", "a", "--latest", "b"},
      {"session", "list", "--state", "asleep"},
      {"session", "cancel", "a", "--turn", "--tool", "grep"},
      {"session", "cancel", "a", "--reason", "boredom"},
      {"session", "resume", "a", "--ttl", "soon"},
      {"session", "resume", "a", "--known-revision", "x"},
      {"--output", "xml", "health"},
      {"replay"},
      {"replay", "--verify-only", kOwn},
      {"replay", "--verify", "--verify-only", "--run", "x", kOwn},
      {"replay", "--parallel", "0", kOwn},
      {"replay", "--pace", "-1s", kOwn},
      {"replay", "no/such/file"},
      {"replay", "--run", "a/b", kOwn},
      {"replay", "--log", "no/such/folder/log", kOwn},
      {"completion", "fish"},
  };
  for (const auto& arguments : wrong) {
    const Ran ran = Holdfast(arguments);
    EXPECT_EQ(ran.code, kUsage) << ::testing::PrintToString(arguments);
    EXPECT_FALSE(ran.err.empty()) << ::testing::PrintToString(arguments);
    EXPECT_THAT(ran.out, IsEmpty()) << ::testing::PrintToString(arguments);
  }
}

TEST(App, WhatWasNotUnderstoodIsNamed) {
  EXPECT_THAT(Holdfast({"nonsense"}).err, HasSubstr("nonsense"));
  EXPECT_THAT(Holdfast({"replay", "--pace", "soon", kOwn}).err, HasSubstr("`soon` is no duration"));
}

TEST(App, HelpHasExamplesForEveryCommand) {
  const std::vector<std::vector<std::string>> commands = {
      {},
      {"session", "list"},
      {"session", "show"},
      {"session", "resume"},
      {"session", "tail"},
      {"session", "cancel"},
      {"session", "close"},
      {"session", "delete"},
      {"replay"},
      {"health"},
      {"completion"},
  };
  for (std::vector<std::string> command : commands) {
    command.emplace_back("--help");
    const Ran ran = Holdfast(command);
    EXPECT_EQ(ran.code, kDone);
    EXPECT_THAT(ran.out, HasSubstr("Example")) << ::testing::PrintToString(command);
    EXPECT_THAT(ran.err, IsEmpty());
  }
}

TEST(App, AServerThatIsNotThereIsUnreachable) {
  const std::vector<std::vector<std::string>> commands = {
      {"health"},
      {"session", "list"},
      {"session", "show", "a"},
      {"session", "resume", "--latest", "/p"},
      {"session", "cancel", "a", "--turn"},
      {"session", "close", "a"},
      {"session", "delete", "a"},
      {"replay", "--patience", "0s", kOwn},
      {"replay", "--patience", "0s", "--run", "x", "--verify-only", kOwn},
  };
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--address", kDeadAddress});
    const Ran ran = Holdfast(command);
    EXPECT_EQ(ran.code, kUnreachable) << ::testing::PrintToString(command);
    EXPECT_THAT(ran.err, HasSubstr("UNREACHABLE: no server answered"));
  }
}

TEST(App, AsJsonTheRefusalIsTheOnlyDocument) {
  const Ran ran = Holdfast({"--address", kDeadAddress, "--output", "json", "session", "show", "a"});
  EXPECT_EQ(ran.code, kUnreachable);
  EXPECT_THAT(ran.err, IsEmpty());
  const auto object = nlohmann::json::parse(ran.out);
  EXPECT_EQ(object["reason"], "UNREACHABLE");
  EXPECT_EQ(object["metadata"]["address"], kDeadAddress);
  EXPECT_TRUE(object["message"].is_string());
}

TEST(App, AReplayThatGotNowhereStillStatesItsSum) {
  const Ran ran = Holdfast({"--address", kDeadAddress, "replay", "--patience", "0s", kOwn});
  EXPECT_THAT(ran.out, StartsWith("run "));
  EXPECT_THAT(ran.out,
              HasSubstr("\n0 sessions, 0 turns, 0 messages, 0 differences, 0 reconnects, "));
}

TEST(App, CompletionKnowsEveryCommand) {
  for (const char* shell : {"bash", "zsh"}) {
    const Ran ran = Holdfast({"completion", shell});
    EXPECT_EQ(ran.code, kDone);
    EXPECT_THAT(ran.out, HasSubstr("'holdfast session') "));
    EXPECT_THAT(ran.out, HasSubstr("list show tail resume cancel close delete"));
    EXPECT_THAT(ran.out, HasSubstr("--verify-only"));
    EXPECT_THAT(ran.out, HasSubstr("${")) << "the script's own text is whole";
  }
}

}  // namespace
}  // namespace holdfast::cli
