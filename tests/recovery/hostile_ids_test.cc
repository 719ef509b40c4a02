// Ids of sessions that are none, over a real socket to a real server on files: every method refuses
// them by name, and no file or directory is made of one.
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <set>
#include <string>
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

class RefusedIds : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    client_ = std::make_unique<WireClient>(server_.address());
    token_ = client_->Must(&Stub::CreateSession, test::CreateRequest("here")).lease_token();
  }

  template <typename Request, typename Reply>
  void Refused(const char* method, WireClient::Method<Request, Reply> call,
               const Request& request) {
    Judge(method, client_->Ask(call, request).verdict, "session_id");
  }
  // A read or another call that names nothing but the session.
  template <typename Request, typename Reply>
  void RefusedPlain(const char* method, WireClient::Method<Request, Reply> call,
                    const std::string& id) {
    Request request;
    request.set_session_id(id);
    Refused(method, call, request);
  }
  static void Judge(const char* method, const Verdict& verdict, const std::string& field) {
    EXPECT_EQ(verdict.reason, "INVALID_FIELD") << method << ": " << verdict.message;
    const auto found = verdict.facts.find("field");
    EXPECT_EQ(found == verdict.facts.end() ? "" : found->second, field) << method;
  }

  void EveryMutationRefuses(const std::string& id) {
    pb::UpdateSessionRequest update;
    update.set_request_id(test::NewRequestId());
    update.set_session_id(id);
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
    Judge("RenewLeases", client_->Renew(id, token_), "leases[0].session_id");
  }

  void EveryReadRefuses(const std::string& id) {
    RefusedPlain("GetSession", &Stub::GetSession, id);
    RefusedPlain("ReadMessages", &Stub::ReadMessages, id);
    RefusedPlain("ReadSlots", &Stub::ReadSlots, id);
    RefusedPlain("ReadJournal", &Stub::ReadJournal, id);
    RefusedPlain("ListEvents", &Stub::ListEvents, id);
    pb::GetRequestOutcomeRequest outcome;
    outcome.set_session_id(id);
    outcome.set_request_id(test::NewRequestId());
    outcome.set_method("CommitTurn");
    Refused("GetRequestOutcome", &Stub::GetRequestOutcome, outcome);
    Judge("ReadSession", client_->ReadWhole(id), "session_id");
  }

  WireClient& client() { return *client_; }
  const TestFolder& folder() { return folder_; }

 private:
  TestFolder folder_;
  ServerProcess server_{folder_};
  std::unique_ptr<WireClient> client_;
  std::string token_;
};

TEST_F(RefusedIds, AreRefusedByEveryMethodAndMakeNothing) {
  const std::set<std::string> before = Names(folder());
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
  EXPECT_EQ(Names(folder()), before);
  EXPECT_EQ(client().Get("here").revision(), 1);
}

// The transport refuses them before any code of the server sees them.
TEST_F(RefusedIds, BytesThatAreNoTextReachNothing) {
  const std::set<std::string> before = Names(folder());
  for (const std::string id : {"\xff", "a\x80", "\xc0\xae\xc0\xae/x"}) {
    EXPECT_NE(client().Reason(&Stub::CreateSession, test::CreateRequest(id)), "OK");
    EXPECT_NE(client().Reason(&Stub::ResumeSession, test::ForceRequest(id)), "OK");
  }
  EXPECT_EQ(Names(folder()), before);
  EXPECT_EQ(client().Get("here").revision(), 1);
}

}  // namespace
}  // namespace holdfast::testing
