// Ids of sessions, over a real socket to a real server on files and on PostgreSQL. Those that are
// none are refused by every method by name, and nothing is made of one; those that nearly are one
// another stay apart.
#include "tests/support/postgres.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

struct HostileId {
  const char* name;
  std::string id;
};

std::vector<HostileId> HostileIds() {
  return {
      {"separator", "a/b"},
      {"way out", "../x"},
      {"way to a file of the store", "../../STORE"},
      {"absolute", "/etc/passwd"},
      {"dot", "."},
      {"two dots", ".."},
      {"NUL in the middle", std::string("a\0b", 3)},
      {"NUL at the end", std::string("here\0", 5)},
      {"one byte too long", std::string(129, 'x')},
      {"64 KiB", std::string(65536, 'x')},
      {"umlaut", "gr\xc3\xbc\xc3\x9f"},
      {"look-alike of a dot", "\xe2\x80\xa4\xe2\x80\xa4"},
      {"space", "a b"},
      {"line", "a\nb"},
      {"backslash", "..\\x"},
  };
}

// Every file and directory of the server.
std::set<std::string> Names(const TestFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    names.insert(entry.path());
  }
  return names;
}

// How many rows each table of the store has.
std::string Rows(const std::string& dsn) {
  constexpr pg::Statement kRows = {
      "rows",
      "SELECT string_agg(format('%s %s', c.relname, (xpath('/row/n/text()', query_to_xml(format("
      "'SELECT count(*) AS n FROM holdfast.%I', c.relname), true, true, '')))[1]), ', '"
      " ORDER BY c.relname) FROM pg_class c WHERE c.relnamespace = 'holdfast'::regnamespace"
      " AND c.relkind = 'r' AND c.relname <> 'probe'"};
  const pg::Answer answer = Connect(dsn)->Run(kRows, pg::Params());
  const auto* const rows = std::get_if<pg::Rows>(&answer);
  EXPECT_NE(rows, nullptr) << std::get_if<pg::Failure>(&answer)->text;
  return rows == nullptr ? "" : std::string(rows->Text(0, 0));
}

enum class On : uint8_t { kFiles, kPostgres };

class Ids : public ::testing::TestWithParam<On> {
 protected:
  void SetUp() override {
    ServerSettings settings;
    if (GetParam() == On::kPostgres) {
      database_ = std::make_unique<TestDatabase>(Contents::kStore);
      settings.dsn = database_->dsn();
    }
    process_ = std::make_unique<ServerProcess>(folder_, settings);
    ASSERT_TRUE(process_->Start()) << process_->Log();
    client_ = std::make_unique<WireClient>(process_->address());
    token_ = client_->Must(&Stub::CreateSession, test::CreateRequest("here")).lease_token();
  }

  template <typename Request, typename Reply>
  void Refused(const char* method, WireClient::Method<Request, Reply> call,
               const Request& request) {
    ExpectRefused(method, client_->Ask(call, request).verdict, "session_id");
  }
  // A read or another call that names nothing but the session.
  template <typename Request, typename Reply>
  void RefusedPlain(const char* method, WireClient::Method<Request, Reply> call,
                    const std::string& id) {
    Request request;
    request.set_session_id(id);
    Refused(method, call, request);
  }
  static void ExpectRefused(const char* method, const Verdict& verdict, const std::string& field) {
    EXPECT_EQ(verdict.reason, "INVALID_FIELD") << method << ": " << verdict.message;
    const auto found = verdict.facts.find("field");
    EXPECT_EQ(found == verdict.facts.end() ? "" : found->second, field) << method;
  }

  void EveryMutationRefuses(const std::string& id) {
    pb::UpdateSessionRequest update;
    update.set_request_id(test::NewRequestId());
    update.mutable_session()->set_session_id(id);
    update.mutable_update_mask()->add_paths("attributes.title");
    Refused("UpdateSession", &Stub::UpdateSession, update);
    pb::ResumeSessionRequest resume = test::ForceRequest(id);
    Refused("ResumeSession", &Stub::ResumeSession, resume);
    *resume.mutable_create_if_missing() = test::CreateRequest("");
    resume.mutable_create_if_missing()->clear_request_id();
    Refused("ResumeSession creating", &Stub::ResumeSession, resume);
    Refused("BeginTurn", &Stub::BeginTurn, test::BeginRequest(id, token_));
    Refused("AppendJournal", &Stub::AppendJournal, test::AppendRequest(id, token_, 1, 1));
    Refused("CommitTurn", &Stub::CommitTurn, test::CommitRequest(id, token_, 1, "x"));
    Refused("AbandonTurn", &Stub::AbandonTurn, test::AbandonRequest(id, token_, 1));
    Refused("CloseSession", &Stub::CloseSession, test::CloseRequest(id, token_));
    Refused("DeleteSession", &Stub::DeleteSession, test::DeleteRequest(id, token_));
    Refused("ReleaseLease", &Stub::ReleaseLease, test::ReleaseRequest(id, token_));
    ExpectRefused("RenewLeases", client_->Renew(id, token_), "leases[0].session_id");
  }

  void EveryReadRefuses(const std::string& id) {
    RefusedPlain("GetSession", &Stub::GetSession, id);
    RefusedPlain("ListMessages", &Stub::ListMessages, id);
    RefusedPlain("ListSlots", &Stub::ListSlots, id);
    RefusedPlain("ListJournalEntries", &Stub::ListJournalEntries, id);
    RefusedPlain("ListEvents", &Stub::ListEvents, id);
    pb::GetRequestOutcomeRequest outcome;
    outcome.set_session_id(id);
    outcome.set_request_id(test::NewRequestId());
    outcome.set_method(pb::METHOD_COMMIT_TURN);
    Refused("GetRequestOutcome", &Stub::GetRequestOutcome, outcome);
    ExpectRefused("ReadSession", client_->ReadWhole(id), "session_id");
  }

  // Every file and directory of the server, and what the database has of it.
  std::set<std::string> WhatIsThere() {
    std::set<std::string> names = Names(folder_);
    if (database_ != nullptr) names.insert(Rows(database_->dsn()));
    return names;
  }
  WireClient& client() { return *client_; }

 private:
  TestFolder folder_;
  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<ServerProcess> process_;
  std::unique_ptr<WireClient> client_;
  std::string token_;
};

TEST_P(Ids, ThatAreNoneAreRefusedByEveryMethodAndMakeNothing) {
  const std::set<std::string> before = WhatIsThere();
  for (const auto& [name, id] : HostileIds()) {
    SCOPED_TRACE(name);
    Refused("CreateSession", &Stub::CreateSession, test::CreateRequest(id));
    EveryMutationRefuses(id);
    EveryReadRefuses(id);
  }
  {
    SCOPED_TRACE("empty");  // asks CreateSession for an id of the server's own
    EveryMutationRefuses("");
    EveryReadRefuses("");
  }
  EXPECT_EQ(WhatIsThere(), before);
  EXPECT_EQ(client().Get("here").revision(), 1);
}

// The transport refuses them before any code of the server sees them.
TEST_P(Ids, BytesThatAreNoTextReachNothing) {
  const std::set<std::string> before = WhatIsThere();
  for (const std::string id : {"\xff", "a\x80", "\xc0\xae\xc0\xae/x"}) {
    EXPECT_NE(client().Reason(&Stub::CreateSession, test::CreateRequest(id)), "OK");
    EXPECT_NE(client().Reason(&Stub::ResumeSession, test::ForceRequest(id)), "OK");
  }
  EXPECT_EQ(WhatIsThere(), before);
  EXPECT_EQ(client().Get("here").revision(), 1);
}

// Each pair is equal for a comparison that ignores case, expands wildcards or compares prefixes.
TEST_P(Ids, ThatNearlyAreOneAnotherAreSessionsOfTheirOwn) {
  const std::string longest(128, 'x');
  const std::vector<std::string> ids = {"twin",
                                        "Twin",
                                        "TWIN",
                                        "a_b",
                                        "a-b",
                                        "a.b",
                                        "a..b",
                                        "twin.",
                                        "-twin",
                                        "_",
                                        longest,
                                        longest.substr(1),
                                        longest.substr(1) + "y"};
  std::map<std::string, std::string> tokens;
  for (const std::string& id : ids) {
    tokens[id] = client().Must(&Stub::CreateSession, test::CreateRequest(id)).lease_token();
  }
  for (const std::string& id : ids) {
    EXPECT_EQ(client().Reason(&Stub::CreateSession, test::CreateRequest(id)), "SESSION_EXISTS");
    const auto begun = client().Must(&Stub::BeginTurn, test::BeginRequest(id, tokens[id]));
    EXPECT_EQ(begun.turn(), 1) << id;
    client().Must(&Stub::CommitTurn, test::CommitRequest(id, tokens[id], 1, "of " + id));
  }
  for (const std::string& id : ids) {
    pb::ListMessagesRequest read;
    read.set_session_id(id);
    const auto page = client().Must(&Stub::ListMessages, read);
    ASSERT_EQ(page.messages_size(), 1) << id;
    EXPECT_EQ(page.messages(0).data(), "of " + id);
  }
  client().Must(&Stub::DeleteSession, test::DeleteRequest("Twin", tokens["Twin"]));
  EXPECT_EQ(client().Get("twin").message_count(), 1);
  std::set<std::string> listed;
  const auto list = client().Must(&Stub::ListSessions, pb::ListSessionsRequest());
  for (const auto& row : list.sessions()) listed.insert(row.session_id());
  std::set<std::string> expected(ids.begin(), ids.end());
  expected.insert("here");
  expected.erase("Twin");
  EXPECT_EQ(listed, expected);
}

INSTANTIATE_TEST_SUITE_P(Stores, Ids, ::testing::Values(On::kFiles, On::kPostgres),
                         [](const auto& made) {
                           return std::string(made.param == On::kFiles ? "Files" : "Postgres");
                         });

}  // namespace
}  // namespace holdfast::testing
