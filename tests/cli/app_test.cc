#include "cli/app.h"

#include "cli/address.h"
#include "cli/exit_code.h"
#include "cli/file_stream.h"
#include "cli/session_view.h"
#include "cli/table.h"
#include "cli/times.h"
#include "holdfast/version.h"
#include "tests/support/temp_dir.h"

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Port 1 of this machine: nothing listens there.
constexpr char kDeadAddress[] = "127.0.0.1:1";
constexpr char kConversation[] = "tests/data/conversation.jsonl";

struct Finished {
  int code = 0;
  std::string out;
  std::string err;
};

Finished Holdfast(const std::vector<std::string>& arguments) {
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
      {"session", "resume", "a", "--known-revision", "-1"},
      {"session", "list", "--limit", "-1"},
      {"session", "list", "--limit", "1.5"},
      {"session", "list", "--limit", "18446744073709551616"},
      {"session", "tail", "a", "--from", "-1"},
      {"--address", "127.0.0.1:73000", "health"},
      {"--address", "127.0.0.1:0", "health"},
      {"--address", "127.0.0.1", "health"},
      {"--address", ":7420", "health"},
      {"--address", "::1:7420", "health"},
      {"--address", "dns:///x:7420", "health"},
      {"--address", "unix:", "health"},
      {"--address=", "health"},
      {"--address=", "health", "health"},
      {"--output", "xml", "health"},
      {"--color", "sometimes", "health"},
      {"session", "messages"},
      {"session", "messages", "a", "--tail", "-1"},
      {"session", "messages", "a", "--tail", "3", "--limit", "3"},
      {"session", "messages", "a", "--tail", "3", "--page-token", "x"},
      {"session", "messages", "a", "--revision", "9223372036854775808"},
      {"session", "messages", "a", "--width", "wide"},
      {"session", "journal"},
      {"session", "journal", "a", "--turn", "x"},
      {"session", "audit"},
      {"session", "slots"},
      {"items"},
      {"items", "list", "--collection", "c"},
      {"items", "list", "a"},
      {"items", "list", "a", "--collection", "c", "--prefix", ""},
      {"items", "list", "a", "--collection", "c", "--group", "g"},
      {"items", "list", "a", "--collection", "c", "--group-prefix", "g"},
      {"items", "list", "--latest", "/p", "--collection", "c", "--group", "g"},
      {"items", "list", "--group", "g", "--group-prefix", "g", "--collection", "c"},
      {"items", "list", "--group", "", "--collection", "c"},
      {"items", "list", "a", "--collection", "c", "--after-key", "hex:0"},
      {"items", "list", "a", "--collection", "c", "--label", "x"},
      {"items", "list", "a", "--collection", "c", "--label", "x:=maybe"},
      {"items", "list", "a", "--collection", "c", "--label", "x=1", "--label", "x:=1"},
      {"items", "get", "a", "--collection", "c"},
      {"items", "get", "a", "", "--collection", "c"},
      {"items", "get", "a", "k", "hex:0g", "--collection", "c"},
      {"items", "put", "a", "k", "--collection", "c"},
      {"items", "put", "a", "k", "l", "--collection", "c", "--data", "x"},
      {"items", "put", "a", "--collection", "c", "--data", "x"},
      {"items", "put", "a", "k", "--collection", "c", "--data", "x", "--append"},
      {"items", "put", "a", "k", "--collection", "c", "--data", "x", "--file", "y"},
      {"items", "put", "a", "--collection", "c", "--data", "x", "--append", "--if-absent"},
      {"items", "put", "a", "k", "--collection", "c", "--data", "x", "--if-absent", "--if-version",
       "1"},
      {"items", "put", "a", "k", "--collection", "c", "--data", "x", "--if-version", "-1"},
      {"items", "put", "a", "k", "--collection", "c", "--data", "x", "--parent-key", "hex:"},
      {"items", "put", "a", "k", "--collection", "c", "--file", "no/such/file"},
      {"replay"},
      {"replay", "--verify-only", kConversation},
      {"replay", "--verify", "--verify-only", "--run", "x", kConversation},
      {"replay", "--parallel", "0", kConversation},
      {"replay", "--pace", "-1s", kConversation},
      {"replay", "no/such/file"},
      {"replay", "--run", "a/b", kConversation},
      {"replay", "--log", "no/such/folder/log", kConversation},
      {"completion", "powershell"},
  };
  for (const auto& arguments : wrong) {
    const Finished ran = Holdfast(arguments);
    EXPECT_EQ(ran.code, kUsage) << ::testing::PrintToString(arguments);
    EXPECT_FALSE(ran.err.empty()) << ::testing::PrintToString(arguments);
    EXPECT_THAT(ran.out, IsEmpty()) << ::testing::PrintToString(arguments);
  }
}

TEST(App, WhatWasNotUnderstoodIsNamed) {
  EXPECT_THAT(Holdfast({"nonsense"}).err, HasSubstr("nonsense"));
  EXPECT_THAT(Holdfast({"replay", "--pace", "soon", kConversation}).err,
              HasSubstr("`soon` is no duration"));
  // The word behind is not the value.
  EXPECT_THAT(Holdfast({"--address=", "health"}).err, HasSubstr("--address: needs a value"));
}

// A script whose server did not start leaves it empty; the default would be another server.
TEST(App, RefusesAnEmptyAddressFromTheEnvironment) {
  ASSERT_EQ(setenv("HOLDFAST_ADDRESS", "", 1), 0);
  const Finished ran = Holdfast({"health"});
  const Finished named = Holdfast({"--address", kDeadAddress, "health"});
  const Finished help = Holdfast({"--help"});
  ASSERT_EQ(setenv("HOLDFAST_ADDRESS", kDeadAddress, 1), 0);
  const Finished set = Holdfast({"health"});
  ASSERT_EQ(unsetenv("HOLDFAST_ADDRESS"), 0);
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("HOLDFAST_ADDRESS: is set and empty"));
  EXPECT_EQ(named.code, kUnreachable);
  EXPECT_EQ(help.code, kDone);
  EXPECT_EQ(set.code, kUnreachable);
  EXPECT_THAT(set.err, HasSubstr(kDeadAddress));
}

TEST(App, PrintsHelpOnTheOutput) {
  const Finished ran = Holdfast({"session", "list", "--help"});
  EXPECT_EQ(ran.code, kDone);
  EXPECT_THAT(ran.out, StartsWith("Lists sessions"));
  EXPECT_THAT(ran.err, IsEmpty());
}

TEST(App, AServerThatIsNotThereIsUnreachable) {
  const std::vector<std::vector<std::string>> commands = {
      {"health"},
      {"session", "list"},
      {"session", "show", "a"},
      {"session", "messages", "a"},
      {"session", "messages", "a", "--tail", "3"},
      {"session", "journal", "a"},
      {"session", "audit", "a"},
      {"session", "slots", "a"},
      {"items", "list", "a", "--collection", "c"},
      {"items", "get", "a", "k", "--collection", "c"},
      {"items", "get", "a", "k", "l", "--collection", "c"},
      {"items", "put", "a", "k", "--collection", "c", "--data", "x"},
      {"store", "status"},
      {"session", "resume", "--latest", "/p"},
      {"session", "cancel", "a", "--turn"},
      {"session", "close", "a"},
      {"session", "delete", "a"},
      {"replay", "--patience", "0s", kConversation},
      {"replay", "--patience", "0s", "--run", "x", "--verify-only", kConversation},
  };
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--address", kDeadAddress});
    const Finished ran = Holdfast(command);
    EXPECT_EQ(ran.code, kUnreachable) << ::testing::PrintToString(command);
    EXPECT_THAT(ran.err, HasSubstr("UNREACHABLE: no server answered"));
  }
}

TEST(App, AsJsonTheRefusalIsTheOnlyDocument) {
  const Finished ran =
      Holdfast({"--address", kDeadAddress, "--output", "json", "session", "show", "a"});
  EXPECT_EQ(ran.code, kUnreachable);
  EXPECT_THAT(ran.err, IsEmpty());
  const auto object = nlohmann::json::parse(ran.out);
  EXPECT_EQ(object["reason"], "UNREACHABLE");
  EXPECT_EQ(object["metadata"]["address"], kDeadAddress);
  EXPECT_TRUE(object["message"].is_string());
}

TEST(App, WritesARefusalAsOneLineOfJsonLines) {
  const Finished ran =
      Holdfast({"--address", kDeadAddress, "--output", "jsonl", "session", "messages", "a"});
  EXPECT_EQ(ran.code, kUnreachable);
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1);
  EXPECT_EQ(nlohmann::json::parse(ran.out)["reason"], "UNREACHABLE");
}

TEST(App, WritesArgumentsThatAreNoUtf8AsJson) {
  const Finished ran = Holdfast({"--address", "unix:/no/\xFFsocket", "--output", "json", "health"});
  EXPECT_EQ(ran.code, kUnreachable);
  EXPECT_EQ(nlohmann::json::parse(ran.out)["metadata"]["address"], "unix:/no/\uFFFDsocket");
}

TEST(App, QuietKeepsErrorsAndDropsTheSummary) {
  const Finished ran =
      Holdfast({"--quiet", "--address", kDeadAddress, "replay", "--patience", "0s", kConversation});
  EXPECT_EQ(ran.code, kUnreachable);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(ran.err, HasSubstr("UNREACHABLE"));
}

TEST(App, AReplayThatGotNowhereStillStatesItsSum) {
  const Finished ran =
      Holdfast({"--address", kDeadAddress, "replay", "--patience", "0s", kConversation});
  EXPECT_THAT(ran.out, StartsWith("run "));
  EXPECT_THAT(ran.out,
              HasSubstr("\n0 sessions, 0 turns, 0 messages, 0 differences, 0 reconnects, "));
}

TEST(App, CompletionKnowsEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished ran = Holdfast({"completion", shell});
    EXPECT_EQ(ran.code, kDone);
    EXPECT_THAT(ran.out, HasSubstr("'holdfast session'"));
    EXPECT_THAT(ran.out, HasSubstr("list show messages journal audit slots tail resume restore "
                                   "checkpoint checkpoints cancel close delete"));
    EXPECT_THAT(ran.out, HasSubstr("list get put "));
    EXPECT_THAT(ran.out, HasSubstr("--verify-only"));
    EXPECT_THAT(ran.out, HasSubstr("complet")) << "the script's own text is whole";
    EXPECT_THAT(ran.out, Not(HasSubstr("@PATHS@"))) << "each place is filled";
  }
}

TEST(App, AddressesHaveTheirForms) {
  for (const char* address : {"127.0.0.1:1", "[::1]:65535", "localhost:7420", "unix:a/b"}) {
    EXPECT_EQ(AddressProblem(address), "") << address;
  }
  EXPECT_EQ(AddressProblem("ipv4:127.0.0.1:1,127.0.0.1:2"), "");
  EXPECT_EQ(AddressProblem("ipv6:[::1]:1,[::1]:2"), "");
  EXPECT_THAT(AddressProblem("ipv4:127.0.0.1:1,127.0.0.1:73000"), HasSubstr("has no port"));
  EXPECT_THAT(AddressProblem("ipv4:"), HasSubstr("is no address"));
  EXPECT_THAT(Holdfast({"--address", "there:73000", "health"}).err,
              HasSubstr("`there:73000` has no port between 1 and 65535"));
}

TEST(App, VersionIsThatOfTheServer) {
  const Finished ran = Holdfast({"--version"});
  EXPECT_EQ(ran.code, kDone);
  EXPECT_EQ(ran.out, "holdfast " + std::string(holdfast::kVersion) + "\n");
  std::ostringstream out, err;
  EXPECT_EQ(cli::Run({"--version"}, out, err, {}, "0.0.0+0123456789ab"), kDone);
  EXPECT_EQ(out.str(), "holdfast 0.0.0+0123456789ab\n");
}

// The transport's words are for its developers.
TEST(App, SaysInItsOwnWordsWhyNoServerAnswered) {
  const std::vector<std::pair<std::string, std::string>> servers = {
      {kDeadAddress, "no server answered (the connection was refused)"},
      // A label is too long by one character: it is refused before any name server is asked.
      {std::string(64, 'x') + ".invalid:1",
       "no server answered (the host name cannot be resolved)"},
      {"unix:/no/such/socket", "no server answered (there is no such socket)"},
  };
  for (const auto& [address, words] : servers) {
    const Finished ran = Holdfast({"--address", address, "health"});
    EXPECT_EQ(ran.code, kUnreachable) << address;
    EXPECT_THAT(ran.err, HasSubstr(words));
    const Finished json = Holdfast({"--address", address, "--output", "json", "health"});
    for (const std::string& said : {ran.err, json.out}) {
      for (const char* word : {"ares", "ARES", "DNS", "ipv4:", "UNKNOWN", "addresses"}) {
        EXPECT_THAT(said, Not(HasSubstr(word))) << address;
      }
    }
  }
}

// Every further session would be waited for just as long.
TEST(App, AReplayEndsWhenNoServerCanBeReached) {
  const std::vector<std::string> replay = {"--address",  kDeadAddress, "replay",     "--verify",
                                           "--patience", "500ms",      kConversation};
  const Finished ran = Holdfast(replay);
  EXPECT_EQ(ran.code, kUnreachable);
  EXPECT_THAT(ran.err, HasSubstr("holdfast: UNREACHABLE: no server answered"));
  EXPECT_THAT(ran.err, HasSubstr("holdfast: calls are repeated for 500ms\n"));
  EXPECT_THAT(ran.err, HasSubstr("sessions left out, for no server could be reached: 2\n"));
  EXPECT_THAT(ran.out, HasSubstr("0 sessions, 0 turns"));
  std::vector<std::string> quiet = {"--quiet"};
  quiet.insert(quiet.end(), replay.begin(), replay.end());
  EXPECT_THAT(Holdfast(quiet).err, Not(HasSubstr("calls are repeated")));
}

// A gRPC server that knows none of our services but the health of all.
TEST(App, AnotherGrpcServerIsNamedAsThat) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto unused = builder.AddCompletionQueue();  // without a service there must be one
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  const std::string address = "127.0.0.1:" + std::to_string(port);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"health"}, {"session", "list"}, {"store", "describe"}}) {
    std::vector<std::string> arguments = {"--address", address};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const Finished ran = Holdfast(arguments);
    EXPECT_EQ(ran.code, kUnreachable);
    EXPECT_EQ(ran.err,
              "holdfast: NOT_HOLDFAST: what answered does not know this call: it is no "
              "Holdfast server, or an older one [address=" +
                  address + "]; next: check that --address is right\n");
  }
  server->Shutdown();
  unused->Shutdown();
}

// Runs a command whose output goes where nothing can be written.
Finished HoldfastIntoAFullDisk(const std::vector<std::string>& arguments) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  FileBuffer buffer(full);
  std::ostream out(&buffer);
  std::ostringstream err;
  const int code = Run(arguments, out, err);
  close(full);
  return {.code = code, .out = "", .err = err.str()};
}

TEST(App, OutputThatCannotBeWrittenIsAFailureWithItsCause) {
  const std::vector<std::vector<std::string>> commands = {
      {"--help"},
      {"--version"},
      {"session", "--help"},
      {"completion", "bash"},
      {"--output", "json", "--address", kDeadAddress, "health"},
      {"--address", kDeadAddress, "replay", "--patience", "0s", kConversation},
  };
  for (const auto& command : commands) {
    const Finished ran = HoldfastIntoAFullDisk(command);
    EXPECT_EQ(ran.code, kRefused) << ::testing::PrintToString(command);
    EXPECT_THAT(ran.err,
                HasSubstr("holdfast: the output could not be written: No space left on device\n"))
        << ::testing::PrintToString(command);
  }
}

// What bash offers at the end of `words`.
std::string Offered(const std::string& words, const std::string& current) {
  std::string list;
  const std::vector<std::string> split = absl::StrSplit(words + " " + current, ' ');
  for (const std::string& word : split) {
    list += "'" + word + "' ";
  }
  const auto count = std::to_string(std::count(words.begin(), words.end(), ' ') + 1);
  const std::string script = Holdfast({"completion", "bash"}).out + "\nCOMP_WORDS=(" + list +
                             "); COMP_CWORD=" + count + "; _holdfast; echo ${COMPREPLY[*]}";
  const test::TempDir folder;
  const std::string file = folder / "completion.bash";
  std::ofstream(file) << script;
  std::FILE* const pipe = popen(("bash " + file).c_str(), "r");
  std::array<char, 4096> buffer{};
  const size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe);
  pclose(pipe);
  return {buffer.data(), got};
}

TEST(App, CompletionOffersTheValuesOfAnOption) {
  EXPECT_EQ(Offered("holdfast --output", ""), "table json jsonl\n");
  EXPECT_EQ(Offered("holdfast --color", ""), "auto always never\n");
  EXPECT_EQ(Offered("holdfast session list --state", "cl"), "closed\n");
  EXPECT_EQ(Offered("holdfast session cancel --reason", ""), "user parent cap\n");
  EXPECT_EQ(Offered("holdfast session list --limit", ""), "\n");
  EXPECT_THAT(Offered("holdfast session", ""), StartsWith("list show messages"));
  EXPECT_THAT(Offered("holdfast items", ""), StartsWith("list get put"));
  EXPECT_THAT(Offered("holdfast items put s k", "--if"), StartsWith("--if-absent --if-version"));
  EXPECT_THAT(Offered("holdfast --output json session", ""), StartsWith("list show messages"));
}

TEST(Table, AListingOfHostileTitlesStaysATable) {
  std::vector<v1::SessionSummary> sessions(2);
  sessions[0].set_session_id("one");
  sessions[0].set_lifecycle(v1::LIFECYCLE_IDLE);
  sessions[0].mutable_update_time()->set_seconds(1'700'000'000);
  sessions[0].mutable_update_time()->set_nanos(123'456'789);
  sessions[0].set_project_root("/" + std::string(4000, 'p'));
  sessions[0].set_title(std::string(3000, 't'));
  sessions[1] = sessions[0];
  sessions[1].set_session_id("two");
  sessions[1].set_project_root("/p");
  sessions[1].set_title("safe\u202Egnp.exe\nthree  idle");
  std::ostringstream out;
  TableWriter table(out);
  table.Write({SessionHeading()});
  table.Write({SessionRow(sessions[0]), SessionRow(sessions[1])});
  EXPECT_EQ(out.str(),
            "SESSION  STATE  REVISION  MESSAGES  UPDATED  PROJECT  TITLE\n"
            "one      idle   0         0         2023-11-14T22:13:20Z  /" +
                std::string(118, 'p') + "\u2026  " + std::string(79, 't') + "\u2026\n" +
                "two      idle   0         0         2023-11-14T22:13:20Z  /p" +
                std::string(120, ' ') + "safe\\u202Egnp.exe\\nthree  idle\n");
}

TEST(Table, AListingHasAColumnForEachAttributeAndSlot) {
  std::vector<v1::SessionSummary> sessions(2);
  for (v1::SessionSummary& session : sessions) {
    session.set_session_id("s");
    session.set_lifecycle(v1::LIFECYCLE_IDLE);
    session.mutable_update_time()->set_seconds(1'700'000'000);
    session.set_project_root("/p");
    session.set_title("t");
  }
  (*sessions[0].mutable_attributes())["agent"] = "plan\nner";
  const auto add = [&](const std::string& owner, const std::string& data) {
    v1::SlotView& view = *sessions[0].add_slots();
    view.mutable_slot()->set_owner(owner);
    view.mutable_slot()->set_data(data);
    view.set_size(static_cast<int64_t>(data.size()));
    return &view;
  };
  add("text", "{}");
  add("bytes", std::string("\0\1", 2));
  add("torn", "")->set_damaged(true);
  v1::SlotView& large = *add("large", "");
  large.set_size(17'000);
  large.set_data_left_out(true);
  const RowContent content{.attributes = {"agent"}, .slots = {"text", "bytes", "torn", "large"}};
  std::ostringstream out;
  TableWriter table(out);
  table.Write({SessionHeading(content), SessionRow(sessions[0], content),
               SessionRow(sessions[1], content)});
  EXPECT_EQ(out.str(),
            "SESSION  STATE  REVISION  MESSAGES  UPDATED               PROJECT  TITLE  "
            "agent      text  bytes    torn     large\n"
            "s        idle   0         0         2023-11-14T22:13:20Z  /p       t      "
            "plan\\nner  {}    2 bytes  damaged  17000 bytes\n"
            "s        idle   0         0         2023-11-14T22:13:20Z  /p       t      "
            "-          -     -        -        -\n");
}

TEST(Times, AreWholeSecondsForPeople) {
  EXPECT_EQ(ShortDuration(absl::Nanoseconds(59'987'654'321)), "59s");
  EXPECT_EQ(ShortDuration(absl::Nanoseconds(250'654'321)), "250ms");
  EXPECT_EQ(ShortDuration(absl::ZeroDuration()), "0");
}

}  // namespace
}  // namespace holdfast::cli
