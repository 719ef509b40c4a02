// Sessions and clients of another store, at a real server: each is refused with both stores' ids
// before anything of the session is looked at, nothing is written, and other sessions are not
// affected.
#include "tests/support/child_process.h"
#include "tests/support/postgres_store.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <map>
#include <memory>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

// A store of its own, and a server over it.
struct Place {
  void Start() {
    ASSERT_TRUE(server.Start()) << server.Log();
    client = std::make_unique<WireClient>(server.address());
    id = database.AskText("SELECT store_id FROM holdfast.store");
  }
  // A session with one committed turn; its token.
  std::string Make(const std::string& session) const {
    const std::string token =
        client->Must(&Stub::CreateSession, test::CreateRequest(session)).lease_token();
    TakeTurn(session, token);
    return token;
  }
  void TakeTurn(const std::string& session, const std::string& token) const {
    const auto begun = client->Must(&Stub::BeginTurn, test::BeginRequest(session, token));
    client->Must(&Stub::CommitTurn, test::CommitRequest(session, token, begun.turn(), "said"));
  }

  const TestFolder folder;
  test::StoreDatabase database{test::WhoseStore::kOfItsOwn};
  ServerProcess server{folder, {.dsn = database.dsn()}};
  std::unique_ptr<WireClient> client;
  std::string id;
};

class ForeignSessions : public ::testing::Test {
 protected:
  void SetUp() override {
    here_.Start();
    elsewhere_.Start();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_NE(here_.id, elsewhere_.id);
    untouched_ = here_.Make("untouched");
  }

  // All that the other store has of its sessions, put in here as an operator would.
  void CopyAll() {
    std::string command = "set -o pipefail; pg_dump --data-only";
    for (const char* table : {"session", "log", "slot", "journal"}) {
      absl::StrAppend(&command, " --table holdfast.", table);
    }
    const std::string said = here_.folder.File("copied");
    const Ending copied =
        RunToEnd({"/bin/bash", "-c", command + " \"$0\" | psql -qv ON_ERROR_STOP=1 \"$1\"",
                  elsewhere_.database.dsn(), here_.database.dsn()},
                 said, said);
    ASSERT_EQ(copied.exit_code, 0) << ReadText(said);
  }
  // From now on a read of more than the session's row fails as damaged.
  void CorruptRowsOf(const std::string& session) {
    for (const char* what :
         {"log SET acts = 'corrupt', msgs = 'corrupt'", "journal SET rec = 'corrupt'"}) {
      here_.database.Run(
          absl::StrCat("UPDATE holdfast.", what, " WHERE session_id = ", test::Quoted(session)));
    }
  }

  void ExpectMismatch(const Verdict& verdict, const std::string& call) const {
    EXPECT_EQ(verdict.reason, "RESUME_MISMATCH") << call << ": " << verdict.message;
    if (verdict.reason != "RESUME_MISMATCH") return;
    EXPECT_EQ(verdict.facts.at("stored"), elsewhere_.id) << call;
    EXPECT_EQ(verdict.facts.at("active"), here_.id) << call;
  }
  template <typename Request, typename Reply>
  void Ask(const std::string& call, WireClient::Method<Request, Reply> method,
           const Request& request) {
    ExpectMismatch(here_.client->Ask(method, request).verdict, call);
  }
  template <typename Request, typename Reply>
  void Read(const std::string& call, WireClient::Method<Request, Reply> method,
            const std::string& session) {
    Request request;
    request.set_session_id(session);
    Ask(call, method, request);
  }

  // Every call on the session is refused, and its row is not touched, not even by the same values.
  void ExpectForeign(const std::string& session, const std::string& token) {
    SCOPED_TRACE(session);
    CorruptRowsOf(session);
    const std::string before = RowOf(session);
    Ask("ResumeSession", &Stub::ResumeSession, test::ForceRequest(session));
    Ask("BeginTurn", &Stub::BeginTurn, test::BeginRequest(session, token));
    Ask("CommitTurn", &Stub::CommitTurn, test::CommitRequest(session, token, 1, "x"));
    Ask("CreateSession", &Stub::CreateSession, test::CreateRequest(session));
    Ask("CloseSession", &Stub::CloseSession, test::CloseRequest(session, token));
    Ask("DeleteSession", &Stub::DeleteSession, test::DeleteRequest(session, token));
    Ask("CancelSession", &Stub::CancelSession,
        test::SessionCancelRequest(session, pb::CANCEL_SCOPE_SESSION));
    ExpectMismatch(here_.client->Renew(session, token), "RenewLeases");
    Read("GetSession", &Stub::GetSession, session);
    Read("ListMessages", &Stub::ListMessages, session);
    Read("ListSlots", &Stub::ListSlots, session);
    Read("ListJournalEntries", &Stub::ListJournalEntries, session);
    Read("ListEvents", &Stub::ListEvents, session);
    Read("ListAuditRecords", &Stub::ListAuditRecords, session);
    Read("VerifyAudit", &Stub::VerifyAudit, session);
    ExpectMismatch(here_.client->ReadWhole(session), "ReadSession");
    EXPECT_EQ(RowOf(session), before);
    ExpectListed(session);
  }
  // As foreign, with the store that it belongs to; and the other session as sound.
  void ExpectListed(const std::string& session) {
    std::map<std::string, pb::SessionSummary> rows;
    const auto list = here_.client->Must(&Stub::ListSessions, pb::ListSessionsRequest());
    for (const auto& row : list.sessions()) {
      rows[row.session_id()] = row;
    }
    EXPECT_EQ(rows[session].condition(), pb::SessionSummary::CONDITION_FOREIGN);
    EXPECT_EQ(rows[session].store_id(), elsewhere_.id);
    EXPECT_EQ(rows["untouched"].condition(), pb::SessionSummary::CONDITION_OK);
    here_.TakeTurn("untouched", untouched_);
  }

  // Everything of the row, by which transaction it was written and where it lies.
  std::string RowOf(const std::string& session) {
    return here_.database.AskText(
        absl::StrCat("SELECT s.xmin::text || ' ' || s.ctid::text || s::text"
                     " FROM holdfast.session s WHERE session_id = ",
                     test::Quoted(session)));
  }
  Place& here() { return here_; }
  Place& elsewhere() { return elsewhere_; }
  const std::string& untouched() { return untouched_; }

 private:
  Place here_;
  Place elsewhere_;
  std::string untouched_;
};

TEST_F(ForeignSessions, CopiedWithAllItsRowsIsLeftAlone) {
  const std::string token = elsewhere().Make("copied");
  CopyAll();
  ExpectForeign("copied", token);
  EXPECT_EQ(elsewhere().client->Get("copied").message_count(), 1) << "it is at home as it was";
  elsewhere().TakeTurn("copied", token);
}

TEST_F(ForeignSessions, AStampThatIsTamperedWithShutsTheSession) {
  const std::string token = here().Make("tampered");
  here().database.Run(absl::StrCat("UPDATE holdfast.session SET store_id = ",
                                   test::Quoted(elsewhere().id), " WHERE session_id = 'tampered'"));
  ExpectForeign("tampered", token);
}

// The record has the id too.
TEST_F(ForeignSessions, AStampThatIsMadeToFitOpensNothing) {
  const std::string token = elsewhere().Make("stolen");
  CopyAll();
  here().database.Run(absl::StrCat("UPDATE holdfast.session SET store_id = ",
                                   test::Quoted(here().id), " WHERE session_id = 'stolen'"));
  ExpectForeign("stolen", token);
}

TEST_F(ForeignSessions, ReportsMismatchToClientOfAnotherStore) {
  const std::string theirs = elsewhere().Make("untouched");
  const std::string before = RowOf("untouched");
  pb::ResumeSessionRequest resume = test::ForceRequest("untouched");
  resume.set_expected_store_id(elsewhere().id);
  Ask("expected store", &Stub::ResumeSession, resume);
  // The same name is another session there: its token opens none here.
  Ask("token of a turn", &Stub::BeginTurn, test::BeginRequest("untouched", theirs));
  Ask("token of a close", &Stub::CloseSession, test::CloseRequest("untouched", theirs));
  ExpectMismatch(here().client->Renew("untouched", theirs), "token of a renewal");
  resume = test::ResumeRequest("untouched");
  resume.set_lease_token(theirs);
  Ask("token of a resume", &Stub::ResumeSession, resume);
  EXPECT_EQ(RowOf("untouched"), before);
  here().TakeTurn("untouched", untouched());
}

}  // namespace
}  // namespace holdfast::testing
