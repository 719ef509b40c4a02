// The commands that list the contents of a session, against a real server.
#include "cli/json_list.h"
#include "tests/cli/end_to_end.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

#include <algorithm>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<std::string> kLists = {"messages", "journal", "audit", "slots"};

class Lists : public EndToEnd {
 protected:
  void SetUp() override {
    EndToEnd::SetUp();
    ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  }

  // A session `many-x` of `turns` turns, each with a question, a tool call, its result and an
  // answer.
  void RecordTurns(int turns) {
    std::string messages;
    for (int turn = 1; turn <= turns; ++turn) {
      const std::string id = absl::StrCat("c", turn);
      absl::StrAppend(&messages, turn == 1 ? "" : ",", R"({"role":"user","content":"question )",
                      turn, R"("},{"role":"assistant","content":null,"tool_calls":[{"id":")", id,
                      R"(","function":{"name":"look","arguments":"{}"}}]},)",
                      R"({"role":"tool","tool_call_id":")", id,
                      R"(","content":"seen"},{"role":"assistant","content":"answer )", turn,
                      R"("})");
    }
    const std::string file =
        Recording("many.jsonl", R"({"id":"many","messages":[)" + messages + "]}\n");
    ASSERT_EQ(Holdfast({"replay", "--run", "x", file}).code, kDone);
  }
};

TEST_F(Lists, MessagesReadLikeAConversation) {
  const Ran ran = Holdfast({"session", "messages", "greenhouse-x", "--width", "60"});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  EXPECT_THAT(ran.err, IsEmpty());
  EXPECT_THAT(ran.out, StartsWith("1  system\n"
                                  "    You look after a greenhouse.\n"
                                  "    Use the tools; never water twice within an hour.\n"
                                  "\n"
                                  "2  user\n"
                                  "    How warm is it in there? \u2600\n"
                                  "\n"
                                  "3  assistant\n"
                                  "    calls read_sensor  call_g1\n"
                                  "      sensor: air\n"
                                  "      unit: \u00b0C\n"
                                  "\n"
                                  "4  tool  read_sensor  call_g1\n"
                                  "    {\"value\": 31.50, \"at\": \"14:05\"}\n"));
  EXPECT_THAT(ran.out, HasSubstr("11  assistant\n"
                                 "    Done: the vents are at 75 %, beds 3 and 4 have had ten\n"
                                 "    litres.\n"));
}

TEST_F(Lists, MessagesAsJsonAreOneReplyWithTheStoredBytes) {
  const auto reply = Json({"session", "messages", "greenhouse-x"});
  EXPECT_EQ(reply["revision"], "7");
  EXPECT_EQ(reply["message_count"], "13");
  EXPECT_EQ(reply["next_page_token"], "");
  ASSERT_EQ(reply["messages"].size(), 13);
  EXPECT_EQ(reply["messages"][1]["seq"], "2");
  std::string data;
  ASSERT_TRUE(absl::Base64Unescape(reply["messages"][1]["data"].get<std::string>(), &data));
  EXPECT_EQ(data, R"({"role": "user", "content": "How warm is it in there? \u2600"})");
  const auto lines = JsonLines({"session", "messages", "greenhouse-x"});
  EXPECT_EQ(nlohmann::json(lines), reply["messages"]);
}

TEST_F(Lists, MessagesOfTheTailAreTheLastOnes) {
  const auto last = JsonLines({"session", "messages", "greenhouse-x", "--tail", "2"});
  ASSERT_EQ(last.size(), 2);
  EXPECT_EQ(last[0]["seq"], "12");
  EXPECT_EQ(JsonLines({"session", "messages", "greenhouse-x", "--tail", "100"}).size(), 13);
}

TEST_F(Lists, BeginBehindAnItem) {
  const auto messages = JsonLines({"session", "messages", "greenhouse-x", "--after", "11"});
  ASSERT_EQ(messages.size(), 2);
  EXPECT_EQ(messages[0]["seq"], "12");
  const auto entries = JsonLines({"session", "journal", "greenhouse-x", "--after", "5"});
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries[0]["journal_number"], "6");
  const auto records = JsonLines({"session", "audit", "greenhouse-x", "--after", "7"});
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0]["seq"], "8");
}

TEST_F(Lists, MessagesAreReadAtARevision) {
  const auto early = Json({"session", "messages", "greenhouse-x", "--revision", "3"});
  EXPECT_EQ(early["revision"], "3");
  EXPECT_EQ(early["messages"].size(), 5) << "those of the first turn";
  const auto last =
      JsonLines({"session", "messages", "greenhouse-x", "--revision", "3", "--tail", "1"});
  ASSERT_EQ(last.size(), 1);
  EXPECT_EQ(last[0]["seq"], "5");
  const Ran ahead = Holdfast({"session", "messages", "greenhouse-x", "--revision", "99"});
  EXPECT_EQ(ahead.code, kDifference);
  EXPECT_THAT(ahead.err, HasSubstr("REVISION_AHEAD"));
}

TEST_F(Lists, RefuseARevisionThatIsPruned) {
  RecordTurns(12);
  EXPECT_EQ(Reason({"session", "messages", "many-x", "--revision", "1"}), "REVISION_PRUNED");
  EXPECT_EQ(Reason({"session", "messages", "many-x", "--revision", "1", "--tail", "1"}),
            "REVISION_PRUNED");
  EXPECT_EQ(Reason({"session", "slots", "many-x", "--revision", "1"}), "REVISION_PRUNED");
  const Ran text = Holdfast({"session", "messages", "many-x", "--revision", "1"});
  EXPECT_EQ(text.code, kRefused);
  EXPECT_THAT(text.out, IsEmpty());
  EXPECT_THAT(text.err, HasSubstr("REVISION_PRUNED: this revision is no longer kept"));
}

TEST_F(Lists, RefuseSessionsThatAreUnknownOrDeleted) {
  ASSERT_EQ(Holdfast({"session", "delete", "greenhouse-x"}).code, kDone);
  for (const std::string& list : kLists) {
    EXPECT_EQ(Reason({"session", list, "unknown"}), "SESSION_NOT_FOUND") << list;
    EXPECT_EQ(Reason({"session", list, "greenhouse-x"}), "TOMBSTONED") << list;
    EXPECT_EQ(Reason({"session", list, "--latest", "/elsewhere"}), "NO_SNAPSHOT") << list;
    const Ran text = Holdfast({"session", list, "unknown"});
    EXPECT_EQ(text.code, kRefused) << list;
    EXPECT_THAT(text.out, IsEmpty()) << list;
    EXPECT_THAT(text.err, StartsWith("holdfast: SESSION_NOT_FOUND: ")) << list;
    const Ran line = Holdfast({"--output", "jsonl", "session", list, "unknown"});
    EXPECT_EQ(line.code, kRefused) << list;
    EXPECT_EQ(nlohmann::json::parse(line.out)["reason"], "SESSION_NOT_FOUND") << list;
  }
}

TEST_F(Lists, RefuseThePageTokenOfAnotherList) {
  const std::string token =
      Json({"session", "messages", "greenhouse-x", "--limit", "1"})["next_page_token"];
  ASSERT_FALSE(token.empty());
  const auto with_token = [&](const std::string& list, const std::string& session) {
    return Reason({"session", list, session, "--page-token", token});
  };
  for (const char* list : {"journal", "audit", "slots"}) {
    EXPECT_EQ(with_token(list, "greenhouse-x"), "INVALID_FIELD") << list;
  }
  EXPECT_EQ(with_token("messages", "night-shift.7-x"), "INVALID_FIELD");
  EXPECT_EQ(Reason({"session", "list", "--page-token", token}), "INVALID_FIELD");
  EXPECT_EQ(Reason({"session", "messages", "greenhouse-x", "--page-token", "made-up"}),
            "INVALID_FIELD");
}

// More than one page of the client and of the server.
TEST_F(Lists, GoThroughAllPages) {
  RecordTurns(110);
  EXPECT_EQ(JsonLines({"session", "messages", "many-x"}).size(), 440);
  EXPECT_EQ(JsonLines({"session", "audit", "many-x"}).size(), 222)
      << "a start, two for each turn, and a release";
  const auto reply = Json({"session", "messages", "many-x"});
  ASSERT_EQ(reply["messages"].size(), 440);
  for (size_t i = 0; i < 440; ++i) EXPECT_EQ(reply["messages"][i]["seq"], std::to_string(i + 1));
  const Ran table = Holdfast({"session", "audit", "many-x"});
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 223) << "one heading";
  const Ran text = Holdfast({"session", "messages", "many-x"});
  EXPECT_THAT(text.out, HasSubstr("\n\n440  assistant\n    answer 110\n"));
}

TEST_F(Lists, ContinueWithThePageTokenOfALimit) {
  RecordTurns(60);
  const Ran first = Holdfast({"session", "messages", "many-x", "--limit", "201"});
  EXPECT_EQ(first.code, kDone);
  EXPECT_THAT(first.out, HasSubstr("\n201  user\n"));
  EXPECT_THAT(first.out, Not(HasSubstr("\n202  ")));
  ASSERT_THAT(first.err, StartsWith("more items follow: --page-token "));
  std::string token = first.err.substr(first.err.rfind(' ') + 1);
  token.pop_back();
  const Ran rest = Holdfast({"session", "messages", "many-x", "--page-token", token});
  EXPECT_THAT(rest.out, StartsWith("202  assistant\n"));
  EXPECT_THAT(rest.out, HasSubstr("\n240  assistant\n"));
  EXPECT_THAT(rest.err, IsEmpty());
  const Ran quiet = Holdfast({"--quiet", "session", "messages", "many-x", "--limit", "1"});
  EXPECT_THAT(quiet.err, IsEmpty());
  for (const char* list : {"journal", "audit"}) {
    const auto page = Json({"session", list, "many-x", "--limit", "3"});
    const auto more =
        JsonLines({"session", list, "many-x", "--page-token", page["next_page_token"]});
    EXPECT_EQ(more.size() + 3, JsonLines({"session", list, "many-x"}).size()) << list;
  }
}

TEST_F(Lists, LetNoStoredControlCharacterReachATerminal) {
  const std::string file = Recording(
      "hostile.jsonl",
      R"({"id":"hostile","messages":[)"
      R"({"role":"user","content":"\u001b]0;title\u0007\u009b31m\u202e"},)"
      R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","function":)"
      R"({"name":"rm\u001b[2J","arguments":"{\"\\u001b[2J\": \"\\u001b[2J\"}"}}]},)"
      R"({"role":"tool","tool_call_id":"c1","name":"rm\u001b[2J","content":"\u001b[2J"}]})"
      "\n");
  ASSERT_EQ(Holdfast({"replay", "--run", "x", file}).code, kDone);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"session", "messages", "hostile-x"},
           {"session", "journal", "hostile-x"},
           {"session", "audit", "hostile-x"},
           {"--output", "json", "session", "messages", "hostile-x"}}) {
    const Ran ran = Holdfast(words);
    EXPECT_EQ(ran.code, kDone) << ran.err;
    for (const char* control : {"\x1b", "\x07", "\u009b", "\u202e"}) {
      EXPECT_THAT(ran.out, Not(HasSubstr(control))) << ::testing::PrintToString(words);
    }
  }
  EXPECT_THAT(Holdfast({"session", "messages", "hostile-x"}).out,
              HasSubstr("1  user\n    \\x1B]0;title\\x07\\u009B31m\\u202E\n"));
}

TEST_F(Lists, ColourIsForTerminalsOnly) {
  const auto shown = [&](const Terminal& terminal, std::vector<std::string> words) {
    words.insert(words.end(), {"--address", server_.address(), "session", "messages",
                               "greenhouse-x", "--tail", "1"});
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(cli::Run(words, out, err, terminal), kDone) << err.str();
    return out.str();
  };
  const Terminal narrow{.present = true, .columns = 30};
  const std::string coloured = "\x1B[1;36m13  assistant\x1B[0m\n";
  ASSERT_EQ(unsetenv("NO_COLOR"), 0);
  ASSERT_EQ(setenv("TERM", "xterm", 1), 0);
  EXPECT_EQ(shown(narrow, {}),
            coloured + "    You are welcome. Shall I\n    close the vents at dusk?\n");
  EXPECT_THAT(shown(narrow, {"--color", "never"}), StartsWith("13  assistant\n"));
  EXPECT_THAT(shown({}, {}), StartsWith("13  assistant\n"));
  EXPECT_THAT(shown({}, {"--color", "always"}), StartsWith(coloured));
  ASSERT_EQ(setenv("NO_COLOR", "1", 1), 0);
  EXPECT_THAT(shown(narrow, {}), StartsWith("13  assistant\n"));
  ASSERT_EQ(unsetenv("NO_COLOR"), 0);
}

TEST_F(Lists, JournalIsATableAndJson) {
  const Ran table = Holdfast({"session", "journal", "greenhouse-x"});
  EXPECT_EQ(table.code, kDone) << table.err;
  EXPECT_THAT(table.out, StartsWith("JOURNAL  TURN  ENTRY  KIND          REF      BYTES  DATA\n"
                                    "1        1     1      tool_intent   call_g1  131    "
                                    "read_sensor {\"sensor\": \"air\", \"unit\": \"\u00b0C\"}\n"));
  const auto entries = JsonLines({"session", "journal", "greenhouse-x"});
  ASSERT_EQ(entries.size(), 6);
  EXPECT_EQ(entries[5]["journal_number"], "6");
  EXPECT_EQ(entries[5]["kind"], "JOURNAL_KIND_TOOL_OUTCOME");
  EXPECT_EQ(JsonLines({"session", "journal", "greenhouse-x", "--turn", "2"}).size(), 4);
  EXPECT_EQ(JsonLines({"session", "journal", "greenhouse-x", "--turn", "0"}).size(), 0);
  EXPECT_EQ(Json({"session", "journal", "greenhouse-x", "--turn", "0"})["entries"].size(), 0);
}

TEST_F(Lists, AuditIsATableAndJson) {
  const Ran table = Holdfast({"session", "audit", "greenhouse-x"});
  EXPECT_EQ(table.code, kDone) << table.err;
  EXPECT_THAT(table.out, StartsWith("SEQ  TIME "));
  EXPECT_THAT(table.out,
              HasSubstr("Turn              TurnEnded    outcome=ok saved=true turn=3\n"));
  const auto records = Json({"session", "audit", "greenhouse-x"})["records"];
  ASSERT_EQ(records.size(), 8);
  EXPECT_EQ(records[0]["previous_hash"], absl::Base64Escape(std::string(32, '\0')));
  EXPECT_EQ(records[7]["code"], "release");
  EXPECT_EQ(records[7]["version"], 2) << "of 32 bits: a number";
}

TEST_F(Lists, SlotsAreListedWithAndWithoutData) {
  v1::CreateSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id("slotted");
  request.mutable_manifest()->set_mode(v1::MODE_ASK);
  request.mutable_manifest()->set_project_root("/p");
  v1::Slot& slot = *request.add_slots();
  slot.set_owner("planner");
  slot.set_version("1.2.0");
  slot.set_drift_policy(v1::DRIFT_POLICY_WARN);
  slot.set_data("plan");
  v1::CreateSessionResponse reply;
  grpc::ClientContext context;
  ASSERT_TRUE(
      Connection(server_.address()).sessions().CreateSession(&context, request, &reply).ok());
  const Ran table = Holdfast({"session", "slots", "slotted", "--owner", "planner"});
  EXPECT_EQ(table.out,
            "OWNER    VERSION  DRIFT  REVISION  BYTES\n"
            "planner  1.2.0    warn   1         4\n");
  const auto bare = JsonLines({"session", "slots", "slotted", "--owner", "planner"});
  ASSERT_EQ(bare.size(), 1);
  EXPECT_EQ(bare[0]["size"], "4");
  EXPECT_EQ(bare[0]["data"], "");
  const auto whole = Json({"session", "slots", "slotted", "--owner", "planner", "--data"});
  EXPECT_EQ(whole["slots"][0]["data"], absl::Base64Escape("plan"));
  EXPECT_EQ(whole["slots"][0]["size"], "4");
}

TEST_F(Lists, SessionsAreStreamedInEveryForm) {
  const auto reply = Json({"session", "list"});
  EXPECT_EQ(reply["complete"], true);
  EXPECT_EQ(reply["next_page_token"], "");
  ASSERT_EQ(reply["sessions"].size(), 3);
  EXPECT_EQ(nlohmann::json(JsonLines({"session", "list"})), reply["sessions"]);
  const Ran table = Holdfast({"session", "list"});
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 4);
  const Ran none = Holdfast({"session", "list", "--project", "/elsewhere"});
  EXPECT_EQ(none.out, "SESSION  STATE  REVISION  MESSAGES  UPDATED  PROJECT  TITLE\n");
  EXPECT_EQ(Json({"session", "list", "--project", "/elsewhere"})["sessions"].size(), 0);
  EXPECT_THAT(JsonLines({"session", "list", "--project", "/elsewhere"}), IsEmpty());
}

TEST_F(Lists, ShowPrintsOneLineAsJsonLines) {
  const auto lines = JsonLines({"session", "show", "greenhouse-x"});
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0], Json({"session", "show", "greenhouse-x"}));
  EXPECT_EQ(lines[0]["revision"], "7");
}

TEST_F(Lists, QuietPrintsDataAlone) {
  EXPECT_THAT(Holdfast({"--quiet", "session", "show", "greenhouse-x"}).out, HasSubstr("revision"));
  const Ran closed = Holdfast({"--quiet", "session", "close", "greenhouse-x"});
  EXPECT_EQ(closed.code, kDone);
  EXPECT_EQ(closed.out + closed.err, "");
  const Ran deleted = Holdfast({"session", "delete", "greenhouse-x", "--quiet"});
  EXPECT_EQ(deleted.out + deleted.err, "");
  const Ran again = Holdfast({"--quiet", "session", "show", "greenhouse-x"});
  EXPECT_EQ(again.code, kRefused);
  EXPECT_THAT(again.err, HasSubstr("TOMBSTONED"));
  const Ran replay = Holdfast({"--quiet", "replay", "--run", "y", kOwn});
  EXPECT_EQ(replay.code, kDone);
  EXPECT_EQ(replay.out + replay.err, "");
  EXPECT_EQ(Json({"--quiet", "replay", "--run", "z", kOwn})["messages"], 27);
}

TEST_F(Lists, StoreStatusSaysWhichStoreAndWhatItOffers) {
  const auto status = Json({"store", "status"});
  EXPECT_EQ(status["status"]["store_name"], "local");
  EXPECT_EQ(status["status"]["serving"], true);
  EXPECT_EQ(status["status"]["incarnation"], "1");
  EXPECT_EQ(status["store"]["store_id"], status["status"]["store_id"]);
  EXPECT_EQ(status["store"]["capabilities"]["journaling"], true);
  const Ran table = Holdfast({"store", "status"});
  EXPECT_EQ(table.code, kDone) << table.err;
  EXPECT_THAT(table.out, StartsWith("store                local (fs)\nstore id             "));
  EXPECT_THAT(table.out, HasSubstr("healthy              yes\n"));
  EXPECT_THAT(table.out, HasSubstr("contract version     1."));
}

v1::ListMessagesResponse PageOf(int64_t seq, const std::string& token) {
  v1::ListMessagesResponse page;
  page.add_messages()->set_seq(seq);
  page.set_next_page_token(token);
  return page;
}

grpc::Status Unavailable() { return {grpc::StatusCode::UNAVAILABLE, "gone"}; }

TEST(JsonList, StaysOneDocumentWhenALaterPageFails) {
  std::ostringstream out;
  std::ostringstream err;
  Invocation invocation{.out = out, .err = err};
  invocation.output = Output::kJson;
  JsonList list(invocation);
  list.Add(PageOf(1, "a"), {});
  list.Add(PageOf(2, "b"), {});
  EXPECT_EQ(list.Fail(Unavailable()), kUnreachable);
  const auto document = nlohmann::json::parse(out.str());
  EXPECT_EQ(document["messages"].size(), 2);
  EXPECT_EQ(document["error"]["reason"], "UNREACHABLE");
  EXPECT_EQ(document["error"]["metadata"]["address"], invocation.address);
}

// Programs often read both outputs as one.
TEST(Note, StaysOutOfADocument) {
  std::ostringstream both;
  Invocation invocation{.out = both, .err = both};
  WriteNote(invocation, "table");
  invocation.output = Output::kJsonLines;
  WriteNote(invocation, "lines");
  invocation.output = Output::kJson;
  WriteNote(invocation, "document");
  invocation.output = Output::kTable;
  invocation.quiet = true;
  WriteNote(invocation, "quiet");
  EXPECT_EQ(both.str(), "table\nlines\n");
}

TEST(JsonList, EndsLinesWithTheRefusal) {
  std::ostringstream out;
  std::ostringstream err;
  Invocation invocation{.out = out, .err = err};
  invocation.output = Output::kJsonLines;
  JsonList list(invocation);
  list.Add(PageOf(1, "a"), {});
  EXPECT_EQ(list.Fail(Unavailable()), kUnreachable);
  const std::vector<std::string> lines = absl::StrSplit(out.str(), '\n');
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["seq"], "1");
  EXPECT_EQ(nlohmann::json::parse(lines[1])["reason"], "UNREACHABLE");
  EXPECT_EQ(lines[2], "");
}

TEST(JsonList, IsIndentedLikeEveryDocument) {
  std::ostringstream out;
  std::ostringstream err;
  Invocation invocation{.out = out, .err = err};
  invocation.output = Output::kJson;
  JsonList list(invocation);
  list.Add(PageOf(1, ""), [](int, nlohmann::ordered_json& item) { item["more"] = "a\nb"; });
  list.End();
  EXPECT_EQ(out.str(), nlohmann::ordered_json::parse(out.str()).dump(2) + "\n");
  EXPECT_EQ(nlohmann::json::parse(out.str())["messages"][0]["more"], "a\nb");
}

}  // namespace
}  // namespace holdfast::cli
