// The command line against a real server: every command, and a replay that meets trouble on its
// way.
#include "tests/cli/end_to_end.h"

#include "tests/support/call_history.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(EndToEnd, HealthSaysWhatServes) {
  const Ran ran = Holdfast({"health"});
  EXPECT_EQ(ran.code, kDone);
  EXPECT_THAT(ran.out, HasSubstr("local (fs)"));
  const auto health = Json({"health"});
  EXPECT_EQ(health["serving"], true);
  EXPECT_EQ(health["store_kind"], "fs");
}

TEST_F(EndToEnd, ATailPrintsEveryEventOnce) {
  ASSERT_EQ(Holdfast({"replay", "--run", "one", kOwn}).code, kDone);
  const Ran all = Holdfast({"--output", "json", "session", "tail", "greenhouse-one", "--once"});
  EXPECT_EQ(all.code, kDone) << all.out << all.err;
  std::istringstream lines(all.out);
  uint64_t seq = 0;
  std::string cursor;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    EXPECT_EQ(event["seq"], std::to_string(++seq));
    if (seq == 3) cursor = event["cursor"];
  }
  EXPECT_EQ(seq, Number(Json({"session", "show", "greenhouse-one"})["last_event"]));

  const Ran table = Holdfast({"session", "tail", "greenhouse-one", "--once", "--from", "4"});
  EXPECT_EQ(table.code, kDone) << table.err;
  EXPECT_THAT(table.out, StartsWith("4  "));
  EXPECT_THAT(table.out, HasSubstr("SessionPersisted  revision="));
  const Ran rest = Holdfast({"session", "tail", "greenhouse-one", "--once", "--cursor", cursor});
  EXPECT_EQ(rest.out, table.out);

  EXPECT_EQ(Reason({"session", "tail", "unknown"}), "SESSION_NOT_FOUND");
  EXPECT_EQ(Reason({"session", "tail", "greenhouse-one", "--cursor", "made-up"}), "INVALID_FIELD");
  EXPECT_EQ(Holdfast({"session", "tail"}).code, kUsage);
}

// The command as a process of its own: the server dies and comes back, then it is
// interrupted.
TEST_F(EndToEnd, ATailOutlivesItsServerAndEndsWithCtrlC) {
  ASSERT_EQ(Holdfast({"replay", "--run", "one", kOwn}).code, kDone);
  const std::string out = folder_.File("tail.out");
  testing::ChildProcess tail({testing::Program("holdfast"), "--address", server_.address(),
                              "--output", "json", "session", "tail", "greenhouse-one"},
                             out, folder_.File("tail.err"));
  const auto seen = [&] {
    const std::string text = testing::ReadText(out);
    return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
  };
  const auto all = [&] {
    return Number(Json({"session", "show", "greenhouse-one"})["last_event"]);
  };
  // Asked once each time: a peer may make no more than so many connections in a second.
  const auto expect_all_seen = [&] {
    const uint64_t last = all();
    EXPECT_TRUE(testing::WaitUntil([&] { return seen() >= last; }));
    EXPECT_EQ(seen(), last);
  };
  expect_all_seen();
  server_.Kill();
  ASSERT_TRUE(server_.Start()) << server_.Log();
  ASSERT_EQ(Holdfast({"session", "resume", "greenhouse-one", "--force", "again"}).code, kDone);
  expect_all_seen();
  EXPECT_EQ(server_.StopUnderLoad().exit_code, 0);
  ASSERT_TRUE(server_.Start()) << server_.Log();
  ASSERT_EQ(Holdfast({"session", "resume", "greenhouse-one", "--force", "and again"}).code, kDone);
  expect_all_seen();
  tail.Signal(SIGINT);
  EXPECT_EQ(tail.Wait().exit_code, 0) << testing::ReadText(folder_.File("tail.err"));
  std::istringstream lines(testing::ReadText(out));
  uint64_t seq = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(nlohmann::json::parse(line)["seq"], std::to_string(++seq));
  }
  EXPECT_EQ(seq, all());
}

TEST_F(EndToEnd, ATailEndsWithItsSession) {
  ASSERT_EQ(Holdfast({"replay", "--run", "one", kOwn}).code, kDone);
  const std::string out = folder_.File("tail.out");
  testing::ChildProcess tail({testing::Program("holdfast"), "--address", server_.address(),
                              "session", "tail", "greenhouse-one"},
                             out, folder_.File("tail.err"));
  const uint64_t all = Number(Json({"session", "show", "greenhouse-one"})["last_event"]);
  EXPECT_TRUE(testing::WaitUntil([&] {
    return testing::ReadText(out).find("\n" + std::to_string(all) + "  ") != std::string::npos;
  }));
  ASSERT_EQ(Holdfast({"session", "delete", "greenhouse-one"}).code, kDone);
  EXPECT_EQ(tail.Wait().exit_code, 0) << testing::ReadText(folder_.File("tail.err"));
  EXPECT_THAT(testing::ReadText(out), HasSubstr("  SessionDeleted  "));
}

TEST_F(EndToEnd, AReplayIsByteForByteWhatWasRecorded) {
  const Ran ran =
      Holdfast({"replay", "--run", "one", "--verify", "--repeat", "2", "--parallel", "3", kOwn});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("run one\n6 sessions, 14 turns, 54 messages, 0 differences, "));
  const auto session = Json({"session", "show", "greenhouse-one-r2"});
  EXPECT_EQ(session["message_count"], "13");
  EXPECT_EQ(session["last_turn"], "3");
  EXPECT_EQ(session["lifecycle"], "LIFECYCLE_PERSISTED");
  EXPECT_EQ(session["journal_number"], "6") << "three tool calls and three results";
  EXPECT_EQ(session["lease"]["state"], "LEASE_STATE_FREE");
}

TEST_F(EndToEnd, AReplayOfTheSameRunDoublesNothing) {
  ASSERT_EQ(Holdfast({"replay", "--run", "one", kOwn}).code, kDone);
  const Ran again = Holdfast({"replay", "--run", "one", "--verify", kOwn});
  EXPECT_EQ(again.code, kDone) << again.err;
  EXPECT_THAT(again.out, HasSubstr("3 sessions, 7 turns, 27 messages, 0 differences"));
  EXPECT_EQ(Json({"session", "show", "greenhouse-one"})["message_count"], "13");
}

TEST_F(EndToEnd, AReplayGoesOnBehindTheLastCommittedMessage) {
  const std::string user = R"({"role":"user","content":"a"})";
  const std::string answer = R"({"role":"assistant","content":"b"})";
  const std::string cut = Recording(
      "cut.jsonl", R"({"id":"c","messages":[)" + user + "," + answer + "," + user + "]}\n");
  const std::string whole =
      Recording("whole.jsonl", R"({"id":"c","messages":[)" + user + "," + answer + "," + user +
                                   "," + answer + "]}\n");
  ASSERT_EQ(Holdfast({"replay", "--run", "x", cut}).code, kDone);
  const Ran ran = Holdfast({"replay", "--run", "x", "--verify", whole});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("4 messages, 0 differences"));
  // The other way round the session holds what is no part of the recording.
  const Ran back = Holdfast({"replay", "--run", "x", cut});
  EXPECT_EQ(back.code, kRefused);
  EXPECT_THAT(back.err, HasSubstr("holds 4 messages and the recording 3"));
}

TEST_F(EndToEnd, EveryDifferenceIsFound) {
  const auto line = [](const std::string& messages) {
    return R"({"id":"c","messages":[)" + messages + "]}\n";
  };
  const std::string user = R"({"role":"user","content":"a"})";
  const std::string spaced = R"({"role": "user","content":"a"})";
  const auto verify = [&](const std::string& messages) {
    return Holdfast(
        {"replay", "--run", "x", "--verify-only", Recording("v.jsonl", line(messages))});
  };
  ASSERT_EQ(Holdfast({"replay", "--run", "x", Recording("d.jsonl", line(user + "," + user))}).code,
            kDone);

  EXPECT_EQ(verify(user + " , " + user).code, kDone) << "space between messages is not theirs";
  const Ran bytes = verify(user + "," + spaced);
  EXPECT_EQ(bytes.code, kDifference);
  EXPECT_THAT(bytes.err,
              HasSubstr("c-x message 2 differs from byte 8 on (30 bytes recorded, 29 stored)"));
  EXPECT_THAT(bytes.out, HasSubstr("1 differences"));
  const Ran missing = verify(user + "," + user + "," + user);
  EXPECT_EQ(missing.code, kDifference);
  EXPECT_THAT(missing.err, HasSubstr("c-x message 3 is missing"));
  const Ran more = verify(user);
  EXPECT_EQ(more.code, kDifference);
  EXPECT_THAT(more.err, HasSubstr("c-x message 2 is not in the recording"));
  const Ran none = Holdfast({"replay", "--run", "y", "--verify-only", folder_.File("v.jsonl")});
  EXPECT_EQ(none.code, kDifference);
  EXPECT_THAT(none.err, HasSubstr("c-y message 1 cannot be read: SESSION_NOT_FOUND"));
}

TEST_F(EndToEnd, AReplayTakesItsOwnSessionBack) {
  const std::string log = folder_.File("calls.log");
  testing::ChildProcess replay({testing::Program("holdfast"), "--address", server_.address(),
                                "replay", "--run", "x", "--pace", "300ms", "--log", log, kOwn},
                               folder_.File("out"), folder_.File("err"));
  testing::CallHistory history(log);
  ASSERT_TRUE(testing::WaitUntil([&] {
    history.Read();
    return history.acknowledged() >= 3;
  }));
  const auto taken = Json({"session", "resume", "greenhouse-x", "--force", "a test"});
  EXPECT_EQ(taken["report"]["previous_holder"], "holdfast replay");
  EXPECT_EQ(replay.Wait().exit_code, kDone) << testing::ReadText(folder_.File("err"));
  EXPECT_EQ(Holdfast({"replay", "--run", "x", "--verify-only", kOwn}).code, kDone);
  EXPECT_GT(Number(Json({"session", "show", "greenhouse-x"})["lease"]["epoch"]), 2);
}

TEST_F(EndToEnd, AKilledReplayIsTakenUpAtOnce) {
  const std::string log = folder_.File("calls.log");
  testing::ChildProcess replay({testing::Program("holdfast"), "--address", server_.address(),
                                "replay", "--run", "x", "--pace", "1h", "--log", log, kOwn},
                               folder_.File("out"), folder_.File("err"));
  testing::CallHistory history(log);
  ASSERT_TRUE(testing::WaitUntil([&] {
    history.Read();
    return history.acknowledged() >= 5;  // the first turn is committed
  }));
  replay.Signal(SIGKILL);
  replay.Wait();
  EXPECT_EQ(Json({"session", "show", "greenhouse-x"})["lease"]["state"], "LEASE_STATE_LIVE");
  const Ran ran = Holdfast({"replay", "--run", "x", "--verify", kOwn});
  EXPECT_EQ(ran.code, kDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("3 sessions, 7 turns, 27 messages, 0 differences"));
}

TEST_F(EndToEnd, SessionsAreListedPageByPageAndFiltered) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", "--repeat", "90", "--parallel", "8", kOwn}).code,
            kDone);
  EXPECT_EQ(Json({"session", "list"})["sessions"].size(), 270);
  EXPECT_EQ(Json({"session", "list", "--limit", "0"})["sessions"].size(), 270);
  EXPECT_EQ(Json({"session", "list", "--limit", "7"})["sessions"].size(), 7);
  EXPECT_EQ(Json({"session", "list", "--state", "active"})["sessions"].size(), 0);
  EXPECT_EQ(Json({"session", "list", "--project", "/elsewhere"})["sessions"].size(), 0);
  const auto oldest = Json({"session", "list", "--limit", "1"})["sessions"][0];
  const auto newest = Json({"session", "list", "--limit", "1", "--newest-first"})["sessions"][0];
  EXPECT_LT(oldest["create_time"], newest["create_time"]);
  const Ran table = Holdfast({"session", "list", "--limit", "1"});
  EXPECT_THAT(table.out, StartsWith("SESSION"));
  EXPECT_THAT(table.out, HasSubstr("persisted"));
}

TEST_F(EndToEnd, ASessionIsResumedClosedAndDeleted) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const std::string id = "greenhouse-x";
  const auto resumed = Json({"session", "resume", id, "--holder", "ann", "--known-revision", "7"});
  const std::string token = resumed["lease_token"];
  EXPECT_EQ(resumed["session"]["lease"]["holder"], "ann");
  EXPECT_EQ(resumed["report"]["restored_revision"], "7");

  EXPECT_EQ(Reason({"session", "resume", id}), "LEASE_HELD");
  EXPECT_EQ(Reason({"session", "close", id}), "LEASE_HELD");
  EXPECT_EQ(Reason({"session", "close", id, "--token", "nonsense"}), "INVALID_FIELD");
  const Ran closed = Holdfast({"session", "close", id, "--token", token});
  EXPECT_EQ(closed.code, kDone) << closed.err;
  EXPECT_EQ(closed.out, "greenhouse-x is closed at revision 9\n");
  EXPECT_THAT(Holdfast({"session", "show", id}).out, HasSubstr("closed (explicit)"));

  const Ran again = Holdfast({"session", "resume", id});
  EXPECT_EQ(again.code, kDone) << again.err;
  EXPECT_THAT(again.out,
              HasSubstr("\nfound at revision 9; goes on from the snapshot of revision 7\n"));
  EXPECT_THAT(again.out, StartsWith("token     "));
  const Ran forced = Holdfast({"session", "resume", id, "--force", "ann has left"});
  EXPECT_EQ(forced.code, kDone) << forced.err;
  EXPECT_EQ(Reason({"session", "delete", id}), "LEASE_HELD");
  const std::string own = Json({"session", "resume", id, "--force", "to delete it"})["lease_token"];
  const Ran deleted = Holdfast({"session", "delete", id, "--token", own});
  EXPECT_EQ(deleted.code, kDone) << deleted.err;
  EXPECT_THAT(deleted.out, HasSubstr("is deleted permanently"));
  EXPECT_EQ(Reason({"session", "show", id}), "TOMBSTONED");
}

TEST_F(EndToEnd, CancelsSessionWithoutLease) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const std::string id = "greenhouse-x";
  EXPECT_EQ(Reason({"session", "cancel", id, "--turn"}), "STALE_TURN");
  const std::string token = Json({"session", "resume", id})["lease_token"];
  const uint64_t turn = BeginTurn(id, token);
  EXPECT_EQ(Holdfast({"session", "cancel", id, "--tool", "grep"}).out,
            absl::StrCat(id, " has a cancel request: tool grep of turn ", turn, " shall end\n"));
  EXPECT_THAT(Holdfast({"session", "show", id}).out,
              HasSubstr(absl::StrCat("tool grep of turn ", turn, ", asked by user at ")));
  EXPECT_EQ(Holdfast({"session", "cancel", id, "--reason", "cap"}).out,
            absl::StrCat(id, " will be closed when turn ", turn, " ends\n"));
  EXPECT_THAT(Holdfast({"session", "show", id}).out, HasSubstr("session, asked by cap at "));
  const auto idle = Json({"session", "cancel", "night-shift.7-x", "--reason", "parent"});
  EXPECT_EQ(idle["session"]["lifecycle"], "LIFECYCLE_CLOSED");
  EXPECT_EQ(Reason({"session", "cancel", "night-shift.7-x"}), "ILLEGAL_TRANSITION");
}

TEST_F(EndToEnd, RestoresSessionToAPointOfItsPast) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const std::string id = "greenhouse-x";
  const auto before = Json({"session", "show", id});
  EXPECT_EQ(Reason({"session", "restore", id, "--drop-last", "1"}), "LEASE_REQUIRED");
  const std::string token = Json({"session", "resume", id})["lease_token"];
  const auto cut = Json({"session", "restore", id, "--drop-last", "1", "--token", token});
  EXPECT_EQ(cut["session_id"], id);
  EXPECT_EQ(cut["removed_message_count"], "1");
  const std::string all = before["message_count"];
  const std::string revision = before["revision"];
  const std::vector<std::string> back = {"session", "restore", id,   "--revision",
                                         revision,  "--token", token};
  EXPECT_THAT(Holdfast(back).out, HasSubstr(absl::StrCat(", with ", all, " messages\n")));
  EXPECT_THAT(Holdfast(back).out, HasSubstr("is so already, at revision "));
  EXPECT_THAT(Holdfast({"session", "restore", id, "--messages", "0", "--token", token}).out,
              HasSubstr(absl::StrCat(", with 0 messages; ", all, " messages removed\n")));
  EXPECT_THAT(Holdfast({"session", "restore", id, "--token", token}).err,
              HasSubstr("--revision, --checkpoint, --messages or --drop-last"));
}

TEST_F(EndToEnd, MakesListsAndDeletesCheckpoints) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const std::string id = "greenhouse-x";
  const std::string last = Json({"session", "show", id})["snapshot_revision"];
  EXPECT_EQ(Holdfast({"session", "checkpoint", id, "--name", "good", "--label", "step:=3"}).out,
            absl::StrCat(id, " has a checkpoint at revision ", last, ", named good\n"));
  EXPECT_THAT(Holdfast({"session", "checkpoint", id, "--name", "good", "--reject"}).out,
              EndsWith(", named good, rejected\n"));
  const std::string table = Holdfast({"session", "checkpoints", id}).out;
  EXPECT_THAT(table, StartsWith("REVISION  KIND    STATUS    TURN"));
  EXPECT_THAT(table, HasSubstr("good  step:=3"));
  EXPECT_THAT(Holdfast({"session", "checkpoints", id, "--only-valid"}).out, Not(HasSubstr("good")));
  const auto listed = Json({"session", "checkpoints", id, "--all"});
  EXPECT_GT(listed["checkpoints"].size(), 1U);
  EXPECT_EQ(Reason({"session", "checkpoint", id, "--name", "bad", "--delete"}), "RECORD_NOT_FOUND");
  EXPECT_THAT(Holdfast({"session", "checkpoint", id, "--delete"}).err,
              HasSubstr("--name or --revision"));
  const std::string token = Json({"session", "resume", id})["lease_token"];
  EXPECT_THAT(
      Holdfast({"session", "restore", id, "--messages", "0", "--pin-previous", "--token", token})
          .out,
      HasSubstr("with 0 messages"));
  EXPECT_THAT(Holdfast({"session", "restore", id, "--checkpoint", "good", "--token", token}).out,
              HasSubstr("is restored as revision"));
  EXPECT_THAT(Holdfast({"session", "checkpoints", id, "--kind", "before_restore"}).out,
              HasSubstr("before_restore"));
  EXPECT_EQ(Holdfast({"session", "checkpoint", id, "--name", "good", "--delete"}).out,
            id + " has no such checkpoint any more\n");
}

TEST_F(EndToEnd, OutputThatCannotBeWrittenIsAFailureWithItsCause) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const std::vector<std::vector<std::string>> commands = {
      {"health"},
      {"session", "list"},
      {"session", "show", "greenhouse-x"},
      {"--output", "json", "session", "show", "greenhouse-x"},
      {"session", "tail", "greenhouse-x"},
      {"session", "messages", "greenhouse-x"},
      {"--output", "json", "session", "messages", "greenhouse-x"},
      {"session", "journal", "greenhouse-x"},
      {"session", "audit", "greenhouse-x"},
      {"session", "slots", "greenhouse-x"},
      {"store", "status"},
      {"store", "describe"},
      {"store", "check"},
      {"store", "verify-audit", "greenhouse-x"},
  };
  for (const auto& command : commands) {
    const Ran ran = HoldfastIntoAFullDisk(command);
    EXPECT_EQ(ran.code, kRefused) << ::testing::PrintToString(command);
    EXPECT_THAT(ran.err, HasSubstr("could not be written: No space left on device\n"));
  }
}

// The program itself: a signal would end it without a word.
TEST_F(EndToEnd, AClosedPipeIsAFailureWithItsCause) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  // Standard output is a pipe whose last reader is gone.
  const std::string into_closed_pipe =
      R"(rm -f "$0"; mkfifo "$0"; exec 3<>"$0" 4>"$0" 3<&-; exec "$@" >&4 4>&-)";
  const std::vector<std::vector<std::string>> commands = {
      {"session", "list"},
      {"--output", "json", "session", "show", "greenhouse-x"},
      {"session", "tail", "greenhouse-x", "--once"},
      {"session", "resume", "greenhouse-x"},
      {"--help"},
  };
  for (const auto& command : commands) {
    const std::string err = folder_.File("pipe.err");
    std::vector<std::string> arguments = {"/bin/bash",
                                          "-c",
                                          into_closed_pipe,
                                          folder_.File("pipe"),
                                          testing::Program("holdfast"),
                                          "--address",
                                          server_.address()};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const testing::Ending ending = testing::RunToEnd(arguments, folder_.File("pipe.out"), err);
    EXPECT_EQ(ending.signal, 0) << ::testing::PrintToString(command);
    EXPECT_EQ(ending.exit_code, kRefused) << ::testing::PrintToString(command);
    EXPECT_THAT(testing::ReadText(err),
                EndsWith("holdfast: the output could not be written: Broken pipe\n"))
        << ::testing::PrintToString(command);
    std::filesystem::remove(err);
  }
  EXPECT_EQ(Holdfast({"session", "resume", "greenhouse-x"}).code, kDone) << "it was given back";
}

// A lease without a known token would block every client until it expires.
TEST_F(EndToEnd, AResumeWhoseTokenCannotBeWrittenGivesTheLeaseBack) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const Ran ran = HoldfastIntoAFullDisk({"session", "resume", "greenhouse-x"});
  EXPECT_EQ(ran.code, kRefused);
  EXPECT_EQ(ran.err,
            "holdfast: greenhouse-x was resumed, but its token could not be written: the lease was "
            "given back\n"
            "holdfast: the output could not be written: No space left on device\n");
  EXPECT_EQ(Holdfast({"session", "resume", "greenhouse-x"}).code, kDone);
}

// A reconnect is answered with the caller's own token, which an agent goes on using.
TEST_F(EndToEnd, AReconnectWhoseOutputCannotBeWrittenKeepsTheLease) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const std::string token = Json({"session", "resume", "greenhouse-x"})["lease_token"];
  for (const char* format : {"table", "json"}) {
    const Ran ran = HoldfastIntoAFullDisk(
        {"--output", format, "session", "resume", "greenhouse-x", "--token", token});
    EXPECT_EQ(ran.code, kRefused);
    EXPECT_EQ(ran.err, "holdfast: the output could not be written: No space left on device\n");
    EXPECT_EQ(Reason({"session", "resume", "greenhouse-x"}), "LEASE_HELD");
  }
  EXPECT_EQ(Json({"session", "resume", "greenhouse-x", "--token", token})["lease_token"], token);
}

// Takes what is flushed first and nothing behind it.
class TakesOneFlush final : public std::stringbuf {
 protected:
  int sync() override { return flushes_++ == 0 ? 0 : -1; }

 private:
  int flushes_ = 0;
};

TEST_F(EndToEnd, AResumeWhoseTokenWasWrittenKeepsTheLease) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  TakesOneFlush buffer;
  std::ostream out(&buffer);
  std::ostringstream err;
  EXPECT_EQ(
      cli::Run({"--address", server_.address(), "session", "resume", "greenhouse-x"}, out, err),
      kRefused);
  EXPECT_THAT(err.str(), Not(HasSubstr("given back")));
  const std::string written = buffer.str();
  const std::string token = written.substr(10, written.find('\n') - 10);
  EXPECT_EQ(Reason({"session", "resume", "greenhouse-x"}), "LEASE_HELD");
  EXPECT_EQ(Json({"session", "resume", "greenhouse-x", "--token", token})["lease_token"], token);
}

TEST_F(EndToEnd, ItemsAreKeptOverARestart) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const auto items = [&](const std::string& command, std::vector<std::string> more) {
    more.insert(more.begin(), {"items", command, "greenhouse-x", "--collection", "notes"});
    return Holdfast(more);
  };
  const Ran put = items("put", {"plan", "--data", "one", "--label", "step:=3"});
  EXPECT_EQ(put.code, kDone) << put.err;
  EXPECT_EQ(put.out, "version  1\nexisted  no\n");
  EXPECT_THAT(items("put", {"--append", "--data", "two"}).out,
              StartsWith("key      hex:0000000000000002\n"));
  EXPECT_EQ(items("put", {"plan", "--data", "x", "--if-version", "2"}).code, kRefused);
  server_.Kill();
  ASSERT_TRUE(server_.Start()) << server_.Log();
  EXPECT_EQ(items("get", {"plan"}).out, "one");
  EXPECT_THAT(items("list", {}).out,
              HasSubstr("\nhex:0000000000000002  2        3              2"));
  EXPECT_THAT(items("list", {"--label", "step:=3"}).out,
              HasSubstr("\nplan  1        3     step:=3"));
  EXPECT_EQ(items("get", {"plan", "none"}).code, kRefused);
  EXPECT_THAT(Holdfast({"session", "show", "greenhouse-x"}).out, HasSubstr("version 2\n"));
}

TEST_F(EndToEnd, TheNewestOfAProjectIsFoundByItsRoot) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const std::string root = std::filesystem::absolute("tests/data");
  EXPECT_EQ(Json({"session", "show", "--latest", root})["session_id"], "night-shift.7-x");
  EXPECT_EQ(Json({"session", "close", "--latest", root})["session_id"], "night-shift.7-x");
  // A relative one is taken from the current directory.
  EXPECT_EQ(Json({"session", "show", "--latest", "tests/../tests/data/"})["session_id"],
            "night-shift.7-x");
  EXPECT_THAT(Holdfast({"session", "list", "--project", "tests/data"}).out,
              HasSubstr("night-shift.7-x"));
  EXPECT_EQ(Reason({"session", "show", "--latest", "/elsewhere"}), "NO_SNAPSHOT");
  EXPECT_EQ(Reason({"session", "show", "no-such-session"}), "SESSION_NOT_FOUND");
}

TEST_F(EndToEnd, ReportsDamageToClientAheadOfStore) {
  ASSERT_EQ(Holdfast({"replay", "--run", "x", kOwn}).code, kDone);
  const Ran ran = Holdfast({"session", "resume", "greenhouse-x", "--known-revision", "1000"});
  EXPECT_EQ(ran.code, kDifference);
  EXPECT_THAT(ran.err, HasSubstr("REVISION_AHEAD"));
}

TEST_F(EndToEnd, AReplayWithoutANameMakesOneAndSaysIt) {
  const Ran first = Holdfast({"replay", kOwn});
  const Ran second = Holdfast({"replay", kOwn});
  EXPECT_EQ(first.code + second.code, kDone);
  EXPECT_THAT(first.out, StartsWith("run 2"));
  EXPECT_NE(first.out.substr(0, first.out.find('\n')), second.out.substr(0, second.out.find('\n')));
  EXPECT_EQ(Json({"replay", "--run", "j", kOwn})["messages"], 27);
}

TEST_F(EndToEnd, AServerThatComesBackIsMet) {
  server_.Kill();
  EXPECT_EQ(Holdfast({"health"}).code, kUnreachable);
  testing::ChildProcess replay({testing::Program("holdfast"), "--address", server_.address(),
                                "replay", "--run", "x", "--log", folder_.File("calls.log"), kOwn},
                               folder_.File("out"), folder_.File("err"));
  // It has found no server, and tries again.
  ASSERT_TRUE(testing::WaitUntil([&] {
    return testing::ReadText(folder_.File("calls.log")).find("error") != std::string::npos;
  }));
  ASSERT_TRUE(server_.Start()) << server_.Log();
  EXPECT_EQ(replay.Wait().exit_code, kDone) << testing::ReadText(folder_.File("err"));
  EXPECT_THAT(testing::ReadText(folder_.File("out")), HasSubstr("0 differences, 1 reconnects"));
}

TEST_F(EndToEnd, TheStoreIsDescribedCheckedAndItsChainsVerified) {
  const auto described = Json({"store", "describe"});
  EXPECT_EQ(described.at("kind"), "fs");
  EXPECT_EQ(nlohmann::json::parse(described.at("config_schema").get<std::string>())
                .at("additionalProperties"),
            false);
  EXPECT_THAT(Holdfast({"store", "describe"}).out, HasSubstr("contract version"));
  EXPECT_EQ(Json({"store", "check"}).at("writable"), true);
  EXPECT_EQ(Holdfast({"store", "check"}).code, kDone);
  ASSERT_EQ(Holdfast({"replay", "--run", "audited", kOwn}).code, kDone);
  const std::string id =
      Json({"session", "list"}).at("sessions").at(0).at("session_id").get<std::string>();
  const auto verdict = Json({"store", "verify-audit", id});
  EXPECT_EQ(verdict.at("valid"), true);
  EXPECT_THAT(Holdfast({"store", "verify-audit", id}).out, HasSubstr("are as they were written"));
  EXPECT_EQ(Reason({"store", "verify-audit", "unknown"}), "SESSION_NOT_FOUND");
  EXPECT_THAT(Holdfast({"completion", "bash"}).out,
              HasSubstr("status describe check verify-audit"));
}

}  // namespace
}  // namespace holdfast::cli
