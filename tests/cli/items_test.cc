// The commands about items against a server over the reference store.
#include "cli/connection.h"
#include "tests/cli/command_line.h"
#include "tests/cli/reference_server.h"
#include "tests/support/child_process.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

class Items : public CommandLine {
 protected:
  void SetUp() override {
    v1::CreateSessionResponse reply;
    grpc::ClientContext context;
    const grpc::Status status =
        Connection(address()).sessions().CreateSession(&context, test::CreateRequest("s"), &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  [[nodiscard]] const std::string& address() const override { return server_.address(); }

  // The words of a command about the collection `notes` of the session.
  static Words Notes(const std::string& command, const Words& more = {}) {
    Words words = {"items", command, "s"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--collection", "notes"});
    return words;
  }

  Ran List(const Words& more = {}) { return Holdfast(Notes("list", more)); }
  Ran Get(const Words& more) { return Holdfast(Notes("get", more)); }
  Ran Put(const Words& more) { return Holdfast(Notes("put", more)); }

  // Puts an item, which must succeed.
  void MustPut(const std::string& key, const std::string& data, Words more = {}) {
    more.insert(more.begin(), {key, "--data", data});
    const Ran ran = Put(more);
    ASSERT_EQ(ran.code, kDone) << ran.err;
  }

  // Items with keys of four digits, in one call.
  void PutMany(int count) {
    v1::PutItemsRequest request;
    request.set_request_id(test::NewRequestId());
    request.set_session_id("s");
    for (int i = 0; i < count; ++i) {
      v1::Item& item = *request.add_puts()->mutable_item();
      item.set_collection("notes");
      item.set_key(absl::StrCat(absl::Dec(i, absl::kZeroPad4)));
      item.set_data("data");
    }
    v1::PutItemsResponse reply;
    grpc::ClientContext context;
    ASSERT_TRUE(Connection(address()).items().PutItems(&context, request, &reply).ok());
  }

  // The keys, decoded, of a list as lines of JSON.
  Words Keys(const Words& more = {}) {
    Words keys;
    for (const auto& item : JsonLines(Notes("list", more))) {
      absl::Base64Unescape(item["key"].get<std::string>(), &keys.emplace_back());
    }
    return keys;
  }

  // A file of the test with these bytes.
  std::string File(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.File(name), std::ios::binary) << bytes;
    return folder_.File(name);
  }

  ::holdfast::testing::TestFolder folder_;
  test::ReferenceServer server_;
};

TEST_F(Items, APutPrintsTheVersionAndWhetherTheItemExisted) {
  EXPECT_EQ(Put({"plan", "--data", "one"}).out, "version  1\nexisted  no\n");
  EXPECT_EQ(Put({"plan", "--data", "two"}).out, "version  2\nexisted  yes\n");
  const auto reply = Json(Notes("put", {"plan", "--data", "three"}));
  EXPECT_EQ(reply["session_id"], "s");
  EXPECT_EQ(reply["key"], absl::Base64Escape("plan"));
  EXPECT_EQ(reply["results"][0]["version"], "3");
  EXPECT_EQ(reply["results"][0]["existed"], true);
  EXPECT_EQ(reply["items_version"], "3");
  EXPECT_EQ(reply["repeated"], false);
  EXPECT_EQ(Get({"plan"}).out, "three") << "the data alone";
  EXPECT_THAT(Holdfast({"session", "show", "s"}).out, HasSubstr("items     version 3\n"));
}

TEST_F(Items, AnAppendPrintsItsKey) {
  EXPECT_EQ(Put({"--append", "--data", "one"}).out,
            "key      hex:0000000000000001\nversion  1\nexisted  no\n");
  EXPECT_EQ(Put({"--append", "--data", "two"}).out,
            "key      hex:0000000000000002\nversion  2\nexisted  no\n");
  EXPECT_EQ(Get({"hex:0000000000000002"}).out, "two");
  const auto reply = Json(Notes("put", {"--append", "--data", "three"}));
  EXPECT_EQ(reply["key"], absl::Base64Escape(std::string("\0\0\0\0\0\0\0\3", 8)));
}

TEST_F(Items, APutOnlyWhereThereIsNoItemKeepsTheOneThatIsThere) {
  EXPECT_EQ(Put({"plan", "--data", "one", "--if-absent"}).out, "version  1\nexisted  no\n");
  const Ran kept = Put({"plan", "--data", "two", "--if-absent"});
  EXPECT_EQ(kept.code, kDone);
  EXPECT_EQ(kept.out, "version  1\nexisted  yes\n");
  EXPECT_EQ(kept.err, "nothing was written: this version was there\n");
  EXPECT_EQ(Get({"plan"}).out, "one");
}

TEST_F(Items, APutOnAnotherVersionIsRefused) {
  EXPECT_EQ(Put({"plan", "--data", "one", "--if-version", "0"}).code, kDone);
  EXPECT_EQ(Put({"plan", "--data", "two", "--if-version", "1"}).code, kDone);
  const Ran refused = Put({"plan", "--data", "three", "--if-version", "1"});
  EXPECT_EQ(refused.code, kRefused);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err, StartsWith("holdfast: STALE_REVISION: "));
  EXPECT_THAT(refused.err, HasSubstr("actual=2"));
  EXPECT_EQ(Reason(Notes("put", {"plan", "--data", "x", "--if-version", "0"})), "STALE_REVISION");
  EXPECT_EQ(Get({"plan"}).out, "two");
}

TEST_F(Items, APutWritesEveryFact) {
  MustPut("plan", "x",
          {"--content-type", "text/markdown", "--label", "owner=ann", "--label", "step:=3",
           "--label", "score:=0.5", "--label", "draft:=true", "--parent-key", "hex:00ff"});
  const auto items = JsonLines(Notes("list"));
  ASSERT_EQ(items.size(), 1);
  const auto& item = items[0];
  EXPECT_EQ(item["collection"], "notes");
  EXPECT_EQ(item["key"], absl::Base64Escape("plan"));
  EXPECT_EQ(item["content_type"], "text/markdown");
  EXPECT_EQ(item["parent_key"], absl::Base64Escape(std::string("\x00\xFF", 2)));
  EXPECT_EQ(item["labels"]["owner"]["string_value"], "ann");
  EXPECT_EQ(item["labels"]["step"]["int_value"], "3");
  EXPECT_EQ(item["labels"]["score"]["double_value"], 0.5);
  EXPECT_EQ(item["labels"]["draft"]["bool_value"], true);
  EXPECT_EQ(item["data"], absl::Base64Escape("x"));
  EXPECT_EQ(item["size"], "1");
  EXPECT_EQ(item["damaged"], false);
  EXPECT_EQ(item["version"], "1");
}

TEST_F(Items, DataComesFromAFileAsItIs) {
  const std::string bytes("\x00\xFF\r\n\x1b[2J", 8);
  EXPECT_EQ(Put({"raw", "--file", File("raw", bytes)}).code, kDone);
  EXPECT_EQ(Get({"raw"}).out, bytes);
  MustPut("empty", "");
  const Ran empty = Get({"empty"});
  EXPECT_EQ(empty.code, kDone);
  EXPECT_EQ(empty.out + empty.err, "");
  const Ran missing = Put({"raw", "--file", folder_.File("none")});
  EXPECT_EQ(missing.code, kUsage);
  EXPECT_EQ(missing.err, absl::StrCat("holdfast: ", folder_.File("none"),
                                      ": cannot be read: No such file or directory\n"));
  EXPECT_EQ(Put({"raw", "--file", folder_.path()}).code, kUsage) << "a directory";
  EXPECT_EQ(Get({"raw"}).out, bytes);
}

// The program itself: its standard input is no test's.
TEST_F(Items, DataComesFromStandardInput) {
  const std::string bytes("in\x00put\n", 7);
  Words words = {
      "/bin/bash", "-c",     R"(exec "$@" <"$0")", File("in", bytes), testing::Program("holdfast"),
      "--address", address()};
  const Words put = Notes("put", {"plan", "--file", "-"});
  words.insert(words.end(), put.begin(), put.end());
  const testing::Ending ending = testing::RunToEnd(words, folder_.File("out"), folder_.File("err"));
  EXPECT_EQ(ending.exit_code, kDone) << testing::ReadText(folder_.File("err"));
  EXPECT_EQ(testing::ReadText(folder_.File("out")), "version  1\nexisted  no\n");
  EXPECT_EQ(Get({"plan"}).out, bytes);
}

// Larger than a part of the stream and than a page.
TEST_F(Items, LargeDataIsWhole) {
  std::string large(3 * 1024 * 1024, 'a');
  for (size_t i = 0; i < large.size(); i += 4099) large[i] = static_cast<char>('b' + i % 20);
  MustPut("first", "small");
  ASSERT_EQ(Put({"large", "--file", File("large", large)}).code, kDone);
  MustPut("second", "small");
  EXPECT_TRUE(Get({"large"}).out == large);
  const auto items = JsonLines(Notes("list"));
  ASSERT_EQ(items.size(), 3);
  EXPECT_TRUE(items[1]["data"] == absl::Base64Escape(large));
  const Ran bare = List({"--omit-data"});
  EXPECT_THAT(bare.out, HasSubstr("large   2        3145728"));
  EXPECT_EQ(JsonLines(Notes("list", {"--omit-data"}))[1]["data"], "");
}

TEST_F(Items, AListIsATableAndJson) {
  MustPut("todo", "water\nthe beds", {"--label", "owner=ann", "--label", "step:=3"});
  MustPut("plan", "one");
  const Ran table = List();
  EXPECT_EQ(table.code, kDone) << table.err;
  EXPECT_THAT(table.out, StartsWith("KEY   VERSION  SIZE  LABELS             UPDATED  "));
  EXPECT_THAT(table.out, HasSubstr("\nplan  2        3                        2"));
  EXPECT_THAT(table.out, HasSubstr("Z  one\ntodo  1        14    owner=ann step:=3  2"));
  EXPECT_THAT(table.out, EndsWith("Z  water\\nthe beds\n"));
  const auto reply = Json(Notes("list"));
  EXPECT_EQ(reply["next_page_token"], "");
  EXPECT_EQ(reply["items_version"], "2");
  ASSERT_EQ(reply["items"].size(), 2);
  EXPECT_EQ(nlohmann::json(JsonLines(Notes("list"))), reply["items"]);
  EXPECT_EQ(Holdfast({"items", "list", "s", "--collection", "other"}).out,
            "KEY  VERSION  SIZE  LABELS  UPDATED  DATA\n");
  EXPECT_EQ(Json({"items", "list", "s", "--collection", "other"})["items"].size(), 0);
}

TEST_F(Items, AListOfAGroupNamesTheSessions) {
  for (const char* id : {"two", "one"}) {
    v1::CreateSessionRequest create = test::CreateRequest(id);
    create.set_group(absl::StrCat("app/", id));
    v1::CreateSessionResponse reply;
    grpc::ClientContext context;
    ASSERT_TRUE(Connection(address()).sessions().CreateSession(&context, create, &reply).ok());
    for (const char* key : {"a", "b"}) {
      const Words put = {"items", "put", id, key, "--collection", "notes", "--data", key};
      ASSERT_EQ(Holdfast(put).code, kDone);
    }
  }
  MustPut("a", "of no group");
  const Words all = {"items", "list", "--group-prefix", "app/", "--collection", "notes"};
  const Ran table = Holdfast(all);
  EXPECT_EQ(table.code, kDone) << table.err;
  EXPECT_EQ(table.err, "");
  EXPECT_THAT(table.out, StartsWith("SESSION  KEY  VERSION  SIZE  LABELS  UPDATED  "));
  EXPECT_THAT(table.out, HasSubstr("\none      b    2        1             2"));
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 5);
  EXPECT_LT(table.out.find("\none "), table.out.find("\ntwo ")) << "by group first";
  const auto reply = Json(all);
  ASSERT_EQ(reply["items"].size(), 4);
  EXPECT_EQ(reply["items"][1]["session_id"], "one");
  EXPECT_EQ(reply["items"][1]["session_uid"].get<std::string>().size(), 36U);
  EXPECT_EQ(reply["items"][1]["key"], absl::Base64Escape("b"));
  EXPECT_EQ(reply["items_version"], "0");
  EXPECT_EQ(reply["unreadable_sessions"].size(), 0);
  EXPECT_EQ(nlohmann::json(JsonLines(all)), reply["items"]);
  EXPECT_FALSE(JsonLines(Notes("list"))[0].contains("session_id"));

  const Words two = {"items", "list", "--group", "app/two", "--collection", "notes"};
  EXPECT_EQ(JsonLines(two).size(), 2);
  Words first = all;
  first.insert(first.end(), {"--limit", "3"});
  const Ran cut = Holdfast(first);
  EXPECT_THAT(cut.out, HasSubstr("\ntwo      a "));
  EXPECT_THAT(cut.out, Not(HasSubstr("\ntwo      b ")));
  ASSERT_THAT(cut.err, StartsWith("more items follow: --page-token "));
  std::string token = cut.err.substr(cut.err.rfind(' ') + 1);
  token.pop_back();
  Words rest = all;
  rest.insert(rest.end(), {"--page-token", token});
  EXPECT_EQ(JsonLines(rest).size(), 1);
}

TEST_F(Items, AListIsOfARangeOrOfLabels) {
  for (const char* key : {"a", "b/1", "b/2", "b/3", "c", "hex:ff", "[x,y]"}) {
    MustPut(key, key, {"--label", absl::StrCat("n=", key), "--label", "one:=1"});
  }
  EXPECT_THAT(Keys(), ElementsAre("[x,y]", "a", "b/1", "b/2", "b/3", "c", "\xFF"));
  EXPECT_THAT(Keys({"--prefix", "b/"}), ElementsAre("b/1", "b/2", "b/3"));
  EXPECT_THAT(Keys({"--prefix", "b/", "--descending"}), ElementsAre("b/3", "b/2", "b/1"));
  EXPECT_THAT(Keys({"--after-key", "b/1", "--before-key", "c"}), ElementsAre("b/2", "b/3"));
  EXPECT_THAT(Keys({"--prefix", "hex:ff"}), ElementsAre("\xFF"));
  EXPECT_THAT(Keys({"--label", "n=b/2"}), ElementsAre("b/2"));
  EXPECT_THAT(Keys({"--label", "n=b/2", "--label", "one:=2"}), IsEmpty());
  EXPECT_EQ(Keys({"--label", "one:=1"}).size(), 7);
  EXPECT_THAT(Keys({"--label", "one=1"}), IsEmpty()) << "a text is no number";
  EXPECT_EQ(Get({"[x,y]"}).out, "[x,y]");
}

// More than one page of the client and of the server.
TEST_F(Items, AListGoesThroughAllPages) {
  PutMany(450);
  const Words keys = Keys();
  ASSERT_EQ(keys.size(), 450);
  for (int i = 0; i < 450; ++i) EXPECT_EQ(keys[i], absl::StrCat(absl::Dec(i, absl::kZeroPad4)));
  const Ran table = List();
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 451) << "one heading";
  EXPECT_EQ(Json(Notes("list"))["items"].size(), 450);
  const Ran first = List({"--limit", "201", "--descending"});
  EXPECT_THAT(first.out, HasSubstr("\n0249  "));
  EXPECT_THAT(first.out, Not(HasSubstr("\n0248  ")));
  ASSERT_THAT(first.err, StartsWith("more items follow: --page-token "));
  std::string token = first.err.substr(first.err.rfind(' ') + 1);
  token.pop_back();
  const Words rest = Keys({"--descending", "--page-token", token});
  ASSERT_EQ(rest.size(), 249);
  EXPECT_EQ(rest.front(), "0248");
  EXPECT_EQ(Reason(Notes("list", {"--page-token", token})), "INVALID_FIELD") << "another list";
}

TEST_F(Items, SeveralItemsAreListedAndMissingKeysNamed) {
  PutMany(3);
  const Ran table = Get({"0001", "0000"});
  EXPECT_EQ(table.code, kDone);
  EXPECT_THAT(table.out, StartsWith("KEY   VERSION"));
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 3);

  const Ran partly = Get({"none", "0001", "hex:00"});
  EXPECT_EQ(partly.code, kRefused);
  EXPECT_THAT(partly.out, HasSubstr("\n0001  "));
  EXPECT_THAT(partly.err,
              StartsWith("holdfast: ITEM_MISSING: the collection has no item of this key "
                         "[collection=notes, key=hex:00]; next: "));
  EXPECT_THAT(partly.err, HasSubstr("key=none]"));

  Words words = Notes("get", {"none", "0001"});
  words.insert(words.begin(), {"--output", "json"});
  const Ran document = Holdfast(words);
  EXPECT_EQ(document.code, kRefused);
  EXPECT_THAT(document.err, IsEmpty());
  const auto reply = nlohmann::json::parse(document.out);
  EXPECT_EQ(reply["items"].size(), 1);
  EXPECT_EQ(reply["missing_keys"], nlohmann::json::array({absl::Base64Escape("none")}));
  words[1] = "jsonl";
  const Ran lines = Holdfast(words);
  EXPECT_EQ(lines.code, kRefused);
  const auto last = nlohmann::json::parse(lines.out.substr(lines.out.find('\n') + 1));
  EXPECT_EQ(last["reason"], "ITEM_MISSING");
  EXPECT_EQ(last["metadata"]["key"], "none");
}

TEST_F(Items, AMissingItemIsRefused) {
  const Ran ran = Get({"plan"});
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_EQ(ran.err,
            "holdfast: ITEM_MISSING: the collection has no item of this key [collection=notes, "
            "key=plan]; next: check the key with `holdfast items list`\n");
}

// More keys than a page has items.
TEST_F(Items, ManyKeysAreReadPageByPage) {
  PutMany(500);
  Words words = {"--output", "json"};
  const Words get = Notes("get");
  words.insert(words.end(), get.begin(), get.end());
  for (int i = 0; i < 1000; i += 2) {
    words.push_back(absl::StrCat(absl::Dec(i, absl::kZeroPad4)));
  }
  const Ran ran = Holdfast(words);
  EXPECT_EQ(ran.code, kRefused);
  const auto reply = nlohmann::json::parse(ran.out);
  EXPECT_EQ(reply["items"].size(), 250);
  EXPECT_EQ(reply["missing_keys"].size(), 250);
}

TEST_F(Items, ADamagedItemIsShownAndTheListGoesOn) {
  PutMany(3);
  server_.faults().Damage("0001");
  const Ran list = List();
  EXPECT_EQ(list.code, kDone);
  EXPECT_THAT(list.out, HasSubstr("\n0001  -        4             -"));
  EXPECT_THAT(list.out, HasSubstr("[damaged]\n0002  "));
  EXPECT_EQ(JsonLines(Notes("list"))[1]["damaged"], true);

  const Ran data = Get({"0001"});
  EXPECT_EQ(data.code, kDifference);
  EXPECT_THAT(data.out, IsEmpty());
  EXPECT_THAT(data.err, StartsWith("holdfast: DAMAGED: stored data fails its checks "
                                   "[collection=notes, key=0001]; next: "));
  const Ran several = Get({"0001", "0002", "none"});
  EXPECT_EQ(several.code, kDifference);
  EXPECT_THAT(several.out, HasSubstr("[damaged]\n0002  "));
  EXPECT_THAT(several.err, HasSubstr("key=none]"));
}

TEST_F(Items, APutThatIsRepeatedWritesOnce) {
  server_.faults().LoseAnswer();
  const auto reply = Json(
      {"items", "--patience", "1m", "put", "s", "plan", "--collection", "notes", "--data", "x"});
  EXPECT_EQ(reply["repeated"], true);
  EXPECT_EQ(reply["results"][0]["version"], "1");
  EXPECT_EQ(reply["results"][0]["existed"], false);

  const Words put = {"log", "--data", "y", "--request-id", "0193a0de-0000-7000-8000-000000000001"};
  server_.faults().LoseAnswer();
  EXPECT_EQ(Put(put).code, kUnreachable) << "without --patience";
  EXPECT_EQ(Put(put).out, "version  2\nexisted  no\n");
  EXPECT_EQ(Put({"log", "--data", "z", "--request-id", put.back()}).code, kRefused);
  EXPECT_EQ(Get({"log"}).out, "y");
}

TEST_F(Items, RefusalsAreThoseOfTheServer) {
  for (const Words& words : std::vector<Words>{{"items", "list", "unknown"},
                                               {"items", "get", "unknown", "k"},
                                               {"items", "put", "unknown", "k", "--data", "x"}}) {
    Words whole = words;
    whole.insert(whole.end(), {"--collection", "notes"});
    EXPECT_EQ(Reason(whole), "SESSION_NOT_FOUND");
    const Ran text = Holdfast(whole);
    EXPECT_EQ(text.code, kRefused);
    EXPECT_THAT(text.out, IsEmpty());
    EXPECT_THAT(text.err, StartsWith("holdfast: SESSION_NOT_FOUND: "));
  }
  EXPECT_EQ(Reason({"items", "list", "s", "--collection", "No"}), "INVALID_FIELD");
  EXPECT_EQ(Reason({"items", "put", "s", "k", "--data", "x", "--collection", "holdfast.own"}),
            "INVALID_FIELD");
  EXPECT_EQ(Reason(Notes("put", {std::string(513, 'k'), "--data", "x"})), "TOO_LARGE");
  const std::string large = File("large", std::string(5 * 1024 * 1024, 'a'));
  EXPECT_EQ(Reason(Notes("put", {"k", "--file", large})), "TOO_LARGE");
  const Ran endless = Put({"k", "--file", "/dev/zero"});
  EXPECT_EQ(endless.code, kUsage);
  EXPECT_EQ(endless.err, "holdfast: /dev/zero: has more than 16777216 bytes\n");
  EXPECT_EQ(Reason(Notes("put", {"k", "--data", "x", "--request-id", "no-uuid"})), "INVALID_FIELD");
}

// Of an id that is used again.
TEST_F(Items, AChangeNamesItsSessionByUid) {
  v1::CreateSessionRequest create = test::CreateRequest("again");
  create.clear_holder();
  create.clear_lease_ttl();
  create.set_kind(v1::SESSION_KIND_OPEN);
  const auto created = [&] {
    v1::CreateSessionResponse reply;
    grpc::ClientContext context;
    create.set_request_id(test::NewRequestId());
    EXPECT_TRUE(Connection(address()).sessions().CreateSession(&context, create, &reply).ok());
    return reply.session().session_uid();
  };
  const std::string first = created();
  EXPECT_THAT(Holdfast({"session", "show", "again"}).out, HasSubstr(first + "\n"));
  EXPECT_EQ(Holdfast({"session", "delete", "again", "--uid", first}).code, kDone);
  create.set_reuse_deleted(first);
  const std::string second = created();
  const auto put = [&](const Words& more) {
    Words words = {"items", "put", "again", "k", "--data", "x", "--collection", "notes"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_EQ(Reason(put({})), "FENCED");
  EXPECT_EQ(Reason(put({"--uid", first})), "FENCED");
  EXPECT_EQ(Holdfast(put({"--uid", second})).code, kDone);
  EXPECT_EQ(Reason({"session", "delete", "again"}), "FENCED");
  EXPECT_EQ(Holdfast({"session", "cancel", "again"}).code, kDone) << "it names what it has read";
  EXPECT_EQ(Holdfast({"session", "delete", "again", "--uid", second}).code, kDone);
}

TEST_F(Items, TheNewestSessionOfAProjectTakesEveryWordAsAKey) {
  const auto with_latest = [&](Words words) {
    words.insert(words.end(), {"--collection", "notes", "--latest", "/project"});
    return Holdfast(words);
  };
  EXPECT_EQ(with_latest({"items", "put", "plan", "--data", "one"}).code, kDone);
  EXPECT_EQ(with_latest({"items", "put", "--append", "--data", "two"}).code, kDone);
  EXPECT_EQ(with_latest({"items", "get", "plan"}).out, "one");
  EXPECT_EQ(with_latest({"items", "get", "plan", "hex:0000000000000002"}).code, kDone);
  EXPECT_THAT(with_latest({"items", "list"}).out, HasSubstr("\nplan "));
  EXPECT_EQ(with_latest({"items", "get"}).code, kUsage);
  EXPECT_EQ(with_latest({"items", "put", "--data", "x"}).code, kUsage);
  EXPECT_EQ(with_latest({"items", "put", "k", "l", "--data", "x"}).code, kUsage);
  EXPECT_EQ(with_latest({"items", "put", "k", "--append", "--data", "x"}).code, kUsage);
  EXPECT_EQ(with_latest({"items", "list", "s"}).code, kUsage);
}

TEST_F(Items, LetNoStoredControlCharacterReachATerminal) {
  MustPut("hex:1b5b324a", "\x1b[2J\u009b", {"--label", "a=\x1b[2J\u202e"});
  MustPut("k", "text \u202e");
  const Ran list = List();
  EXPECT_THAT(list.out, HasSubstr("hex:1b5b324a  "));
  EXPECT_THAT(list.out, HasSubstr("a=\\x1B[2J\\u202E"));
  for (const char* control : {"\x1b", "\u009b", "\u202e"}) {
    EXPECT_THAT(list.out, Not(HasSubstr(control)));
  }
}

TEST_F(Items, OutputThatCannotBeWrittenIsAFailureWithItsCause) {
  MustPut("plan", "one");
  for (const Words& words : {Notes("list"), Notes("get", {"plan"}), Notes("get", {"plan", "todo"}),
                             Notes("put", {"plan", "--data", "two"})}) {
    const Ran ran = HoldfastIntoAFullDisk(words);
    EXPECT_EQ(ran.code, kRefused) << ::testing::PrintToString(words);
    EXPECT_THAT(ran.err, HasSubstr("could not be written: No space left on device\n"));
  }
}

}  // namespace
}  // namespace holdfast::cli
