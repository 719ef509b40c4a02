#include "cli/text.h"

#include "cli/chat_message.h"
#include "cli/conversation_view.h"
#include "cli/item_view.h"
#include "cli/table.h"
#include "cli/terminal.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Text, PrintableEscapesWhatControlsATerminal) {
  EXPECT_EQ(Printable("a\x1b[2Jb\u009bc\x7f\td\r\n"), "a\\x1B[2Jb\\u009Bc\\x7F\\td\\r\\n");
  EXPECT_EQ(Printable(std::string(1, '\0')), "\\x00");
}

TEST(Text, PrintableEscapesWhatReordersOrHidesText) {
  EXPECT_EQ(Printable("a\u202Eb\u2066c\u200Bd\u2028e\U000E0041"),
            "a\\u202Eb\\u2066c\\u200Bd\\u2028e\\U000E0041");
  EXPECT_EQ(Printable("\u00e4 \u20ac \U0001F642 \u05d0"), "\u00e4 \u20ac \U0001F642 \u05d0");
}

// A byte that is no UTF-8 may be a control character of an older terminal.
TEST(Text, PrintableEscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(Printable("a\x9b\x32J"), "a\\x9B2J");
  EXPECT_EQ(Printable("\xC0\x9B"), "\\xC0\\x9B") << "an ESC of two bytes";
  EXPECT_EQ(Printable("\xED\xA0\x80"), "\\xED\\xA0\\x80") << "half a surrogate pair";
  EXPECT_EQ(Printable("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(Printable("\xE2\x82"), "\\xE2\\x82") << "cut";
  EXPECT_EQ(Printable("\xFF"), "\\xFF");
}

TEST(Text, IsPlainTextRefusesControlCharactersAndOtherBytes) {
  EXPECT_TRUE(IsPlainText("a\tb\r\n\u00e4"));
  EXPECT_TRUE(IsPlainText(""));
  EXPECT_FALSE(IsPlainText("a\x1b"));
  EXPECT_FALSE(IsPlainText("\xFF"));
  EXPECT_FALSE(IsPlainText(std::string(1, '\0')));
}

TEST(Text, ColumnsCountsWideAndCombiningCharacters) {
  EXPECT_EQ(Columns(""), 0);
  EXPECT_EQ(Columns("abc"), 3);
  EXPECT_EQ(Columns("\u00e4\u20ac"), 2);
  EXPECT_EQ(Columns("\u4e2d\u6587"), 4);
  EXPECT_EQ(Columns("\U0001F345"), 2);
  EXPECT_EQ(Columns("e\u0301"), 1);
}

TEST(Text, CutCutsBetweenCharacters) {
  EXPECT_EQ(Cut("abc", 3), "abc");
  EXPECT_EQ(Cut("abcd", 3), "ab\u2026");
  EXPECT_EQ(Cut("\u00e4\u00f6\u00fc\u00df", 3), "\u00e4\u00f6\u2026");
  EXPECT_EQ(Cut("\u00e4\u00f6\u00fc", 3), "\u00e4\u00f6\u00fc");
  EXPECT_EQ(Cut("\u4e2d\u6587\u4e2d", 4), "\u4e2d\u2026") << "two columns each";
  EXPECT_EQ(Cut("", 3), "");
}

TEST(Text, WrapBreaksAtSpaces) {
  EXPECT_THAT(Wrap("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(Wrap("one two", 7), ElementsAre("one two"));
  EXPECT_THAT(Wrap("a  b", 10), ElementsAre("a  b")) << "spaces in a line stay";
  EXPECT_THAT(Wrap("one two   ", 7), ElementsAre("one two"));
  EXPECT_THAT(Wrap("", 10), IsEmpty());
}

TEST(Text, WrapKeepsLinesAndIndentation) {
  EXPECT_THAT(Wrap("a\n\n  b c\r\nd\n\n", 10), ElementsAre("a", "", "  b c", "d"));
  EXPECT_THAT(Wrap("\tx\n ab\ty", 10), ElementsAre("    x", " ab y"));
  EXPECT_THAT(Wrap(std::string(50, ' ') + "x", 6), ElementsAre("    x"));
}

TEST(Text, WrapBreaksWordsThatAreWiderThanALine) {
  EXPECT_THAT(Wrap("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
  EXPECT_THAT(Wrap("x abcdef", 4), ElementsAre("x", "abcd", "ef"));
  EXPECT_THAT(Wrap("[1234,5678,90]", 7), ElementsAre("[1234,", "5678,", "90]"));
  EXPECT_THAT(Wrap("\u4e2d\u6587\u4e2d\u6587", 5), ElementsAre("\u4e2d\u6587", "\u4e2d\u6587"));
  EXPECT_THAT(Wrap("\u4e2d\u6587", 2), ElementsAre("\u4e2d", "\u6587"));
}

TEST(Text, WrapEscapesControlCharacters) {
  EXPECT_THAT(Wrap("a\x1b[31mb\x07\rc", 40), ElementsAre("a\\x1B[31mb\\x07\\rc"));
  EXPECT_THAT(Wrap("a\u2028b", 40), ElementsAre("a\\u2028b"));
}

TEST(Text, TableWriterKeepsColumnsOverItsParts) {
  std::ostringstream out;
  TableWriter table(out);
  table.Write({{"A", "B"}, {"long", "x"}});
  table.Write({{"a", "y"}});
  table.Write({{"longer", "z"}, {"\u4e2d", "w"}});
  EXPECT_EQ(out.str(), "A     B\nlong  x\na     y\nlonger  z\n\u4e2d      w\n");
}

TEST(Terminal, ColorFollowsTheChoiceTheVariablesAndTheTerminal) {
  const Terminal terminal{.present = true};
  ASSERT_EQ(setenv("TERM", "xterm", 1), 0);
  EXPECT_TRUE(UsesColor(ColorChoice::kAuto, terminal));
  EXPECT_FALSE(UsesColor(ColorChoice::kAuto, Terminal()));
  EXPECT_FALSE(UsesColor(ColorChoice::kNever, terminal));
  EXPECT_TRUE(UsesColor(ColorChoice::kAlways, Terminal()));
  ASSERT_EQ(setenv("NO_COLOR", "1", 1), 0);
  EXPECT_FALSE(UsesColor(ColorChoice::kAuto, terminal));
  EXPECT_TRUE(UsesColor(ColorChoice::kAlways, terminal));
  ASSERT_EQ(setenv("NO_COLOR", "", 1), 0);
  EXPECT_TRUE(UsesColor(ColorChoice::kAuto, terminal)) << "an empty variable says nothing";
  ASSERT_EQ(unsetenv("NO_COLOR"), 0);
  ASSERT_EQ(setenv("TERM", "dumb", 1), 0);
  EXPECT_FALSE(UsesColor(ColorChoice::kAuto, terminal));
  ASSERT_EQ(unsetenv("TERM"), 0);
}

TEST(ChatMessage, ParsesTextToolCallsAndResults) {
  const auto call = ParseChatMessage(
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
      R"("function":{"name":"water","arguments":"{\"beds\": [3,  4], \"litres\": 1e1}"}}]})");
  ASSERT_TRUE(call);
  EXPECT_THAT(call->parts, IsEmpty());
  ASSERT_EQ(call->calls.size(), 1);
  EXPECT_EQ(call->calls[0].name, "water");
  EXPECT_EQ(call->calls[0].id, "c1");
  const auto arguments = ParseArguments(call->calls[0].arguments);
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->at(0).value, "[3,  4]") << "as it is written";
  EXPECT_EQ(arguments->at(1).value, "1e1");
  const auto result =
      ParseChatMessage(R"({"role":"tool","tool_call_id":"c1","name":"water","content":"ok"})");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->tool_call_id, "c1");
  EXPECT_EQ(result->name, "water");
  EXPECT_EQ(result->parts.at(0).text, "ok");
}

TEST(ChatMessage, NamesPartsThatAreNoText) {
  const auto message = ParseChatMessage(R"({"content":[{"type":"text","text":"look"},)"
                                        R"({"type":"image_url","image_url":{"url":"x"}}]})");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->parts.at(0).text, "look");
  EXPECT_EQ(message->parts.at(1).type, "image_url");
  EXPECT_EQ(message->parts.at(1).bytes, 44);
}

TEST(ChatMessage, RefusesOtherJson) {
  for (const char* json : {"", "[]", "{}", "{\"a\":1}", "{\"content\":1}", "{\"content\":\"",
                           "{\"tool_calls\":3}", "{\"tool_calls\":[3]}", "\"text\""}) {
    EXPECT_FALSE(ParseChatMessage(json)) << json;
  }
}

v1::Message StoredMessage(const std::string& role, const std::string& data) {
  v1::Message message;
  message.set_seq(7);
  message.set_role(role);
  message.set_data(data);
  return message;
}

std::string Shown(const v1::Message& message, const ConversationLayout& layout = {},
                  const Painter& painter = Painter(false)) {
  std::ostringstream out;
  ConversationWriter(out, layout, painter).Write(message);
  return out.str();
}

TEST(Conversation, WritesTheRoleAsHeadingAndTheTextWrapped) {
  EXPECT_EQ(Shown(StoredMessage("user", R"({"content":"one two three four"})"), {.columns = 20}),
            "7  user\n    one two three\n    four\n");
  EXPECT_EQ(Shown(StoredMessage("", R"({"content":""})")), "7  (no role)\n    [empty]\n");
}

TEST(Conversation, SeparatesMessagesByAnEmptyLine) {
  std::ostringstream out;
  ConversationWriter writer(out, {}, Painter(false));
  writer.Write(StoredMessage("user", R"({"content":"a"})"));
  writer.Write(StoredMessage("user", R"({"content":"b"})"));
  EXPECT_EQ(out.str(), "7  user\n    a\n\n7  user\n    b\n");
}

TEST(Conversation, WritesToolCallsByArgument) {
  const std::string call =
      R"({"content":"I look.","tool_calls":[{"id":"c1","function":{"name":"edit",)"
      R"("arguments":"{\"file\": \"a.py\", \"text\": \"if x:\\n\\ty()\",)"
      R"( \"deep\": {\"a\": 1}}"}}]})";
  EXPECT_EQ(Shown(StoredMessage("assistant", call)),
            "7  assistant\n    I look.\n\n    calls edit  c1\n      file: a.py\n      text:\n"
            "        if x:\n            y()\n      deep: {\"a\": 1}\n");
}

TEST(Conversation, ShortensToolTextsByABoundAndNothingElse) {
  const std::string long_text = R"({"content":"1\n2\n3\n4\n5"})";
  EXPECT_EQ(Shown(StoredMessage("tool", long_text), {.tool_lines = 2}),
            "7  tool\n    1\n    2\n    [3 more lines; --tool-lines 0 prints all]\n");
  EXPECT_THAT(Shown(StoredMessage("tool", long_text), {.tool_lines = 0}), HasSubstr("    5\n"));
  EXPECT_THAT(Shown(StoredMessage("tool", long_text), {.tool_lines = 4}), HasSubstr("    5\n"));
  EXPECT_THAT(Shown(StoredMessage("user", long_text), {.tool_lines = 2}), HasSubstr("    5\n"));
}

TEST(Conversation, NamesOtherBodiesByTypeAndSize) {
  v1::Message image = StoredMessage("user", "\x89PNG\x1b[2J");
  image.set_content_type("image/png\x1b[2J");
  EXPECT_EQ(Shown(image), "7  user\n    [image/png\\x1B[2J, 8 bytes]\n");
  EXPECT_EQ(Shown(StoredMessage("user", "7")), "7  user\n    [application/json, 1 byte]\n");
  v1::Message text = StoredMessage("user", R"({"content":"x"})");
  text.set_content_type("text/plain");
  EXPECT_EQ(Shown(text), "7  user\n    [text/plain, 15 bytes]\n");
}

// ESC as an escape of JSON, as a raw byte of a role, in a tool's name, id, argument and result.
TEST(Conversation, LetsNoControlCharacterThrough) {
  const std::string escape = "\\u001b[2J\\u009b\\u0007\\u202e";
  const std::string call = R"({"name":")" + escape + R"(","content":[{"text":")" + escape +
                           R"("},{"type":")" + escape + R"("}],"tool_call_id":")" + escape +
                           R"(","tool_calls":[{"id":")" + escape + R"(","function":{"name":")" +
                           escape + R"(","arguments":"{\"\u001b[2J\": \"\u001b[2J\"}"}},)" +
                           R"({"function":{"name":"f","arguments":"\u001b[2J"}}]})";
  for (const std::string& shown :
       {Shown(StoredMessage("\x1b[2J\x9b", call)), Shown(StoredMessage("tool", call))}) {
    EXPECT_THAT(shown, HasSubstr("\\x1B[2J\\u009B\\x07\\u202E"));
    for (const char control : {'\x1b', '\x07', '\x9b'}) {
      EXPECT_THAT(shown, Not(HasSubstr(std::string(1, control))));
    }
    EXPECT_THAT(shown, Not(HasSubstr("\u202E")));
  }
}

TEST(Conversation, ColoursHeadingsOnly) {
  const std::string shown =
      Shown(StoredMessage("user", R"({"content":"\u001b[31mred"})"), {}, Painter(true));
  EXPECT_EQ(shown, "\x1B[1;32m7  user\x1B[0m\n    \\x1B[31mred\n");
}

TEST(ItemView, JournalRowsSummariseData) {
  v1::JournalEntry entry;
  entry.set_journal_number(5);
  entry.set_turn(2);
  entry.set_number(1);
  entry.set_kind(v1::JOURNAL_KIND_TOOL_INTENT);
  entry.set_ref("c1");
  entry.set_data(R"({"id":"c1","function":{"name":"water","arguments":"{\"beds\": 3}"}})");
  EXPECT_THAT(JournalRow(entry),
              ElementsAre("5", "2", "1", "tool_intent", "c1", "67", "water {\"beds\": 3}"));
  entry.set_data("\xFF\x01");
  EXPECT_EQ(JournalRow(entry).back(), "") << "the size says all";
  entry.set_data("plain\n\x1b[2Jtext");
  EXPECT_EQ(JournalRow(entry).back(), "");
  entry.clear_data();
  entry.set_kind(v1::JOURNAL_KIND_SLOT_UPDATE);
  entry.mutable_slot()->set_owner("planner");
  entry.mutable_slot()->set_version("1.2.0");
  entry.mutable_slot()->set_data("abc");
  EXPECT_THAT(JournalRow(entry),
              ElementsAre("5", "2", "1", "slot_update", "c1", "3", "planner 1.2.0"));
  // A kind that a newer server knows.
  entry.set_kind(static_cast<v1::JournalKind>(99));
  EXPECT_EQ(JournalRow(entry)[3], "unknown");
}

}  // namespace
}  // namespace holdfast::cli
