// Copies of one request at two servers of one database, sent while the first of them has written
// everything and waits inside COMMIT: one acts, and all are answered alike.
#include "tests/support/twins.h"

#include "tests/support/postgres_store.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <array>
#include <memory>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

constexpr char kSession[] = "twins";
constexpr char kOfTwins[] = "session_id = 'twins'";

class PgTwins : public ::testing::Test {
 protected:
  // A transaction that wrote a session waits inside COMMIT while the test holds a lock.
  void SetUp() override {
    database_.Run(
        "CREATE FUNCTION holdfast.test_wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;"
        "CREATE CONSTRAINT TRIGGER test_wait AFTER INSERT OR UPDATE ON holdfast.session"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION holdfast.test_wait()");
    holder_ = Connect(database_.dsn());
    for (ServerProcess* const server : {&first_, &second_}) {
      ASSERT_TRUE(server->Start()) << server->Log();
    }
    client_ = std::make_unique<WireClient>(first_.address());
    other_ = std::make_unique<WireClient>(second_.address());
    token_ = client_->Must(&Stub::CreateSession, test::CreateRequest(kSession)).lease_token();
  }

  // Eight copies of `request` at both servers: one is held inside COMMIT until one of the other
  // server waits for it. A copy behind them, at each server, changes nothing.
  template <typename Request, typename Reply>
  Reply SendByEight(WireClient::Method<Request, Reply> method, const Request& request) {
    const Reply reply = SendHeld(method, request);
    for (WireClient* const client : {client_.get(), other_.get()}) {
      ExpectNoEffect(*client, kSession, method, request, Said(reply));
    }
    return reply;
  }
  template <typename Request, typename Reply>
  Reply SendHeld(WireClient::Method<Request, Reply> method, const Request& request) {
    EXPECT_EQ(holder_->Script("SELECT pg_advisory_lock(7)"), absl::OkStatus());
    return testing::SendByEight({first_.address(), second_.address()}, method, request, [&] {
      EXPECT_TRUE(WaitUntil([&] { return InCommit() == "1" && Behind() == "1"; }))
          << InCommit() << " wait inside COMMIT, and " << Behind() << " for one of them";
      EXPECT_EQ(holder_->Script("SELECT pg_advisory_unlock(7)"), absl::OkStatus());
    });
  }

  uint64_t Begin() {
    return client().Must(&Stub::BeginTurn, test::BeginRequest(kSession, token_)).turn();
  }
  WireClient& client() { return *client_; }
  const std::string& token() { return token_; }
  // What the database has of the session in `table`.
  std::string RowsOf(const std::string& table, const std::string& where = kOfTwins) {
    return database_.AskText(
        absl::StrCat("SELECT count(*)::text FROM holdfast.", table, " WHERE ", where));
  }

 private:
  std::string InCommit() { return Waiting("wait_event = 'advisory'"); }
  std::string Behind() { return Waiting("wait_event_type = 'Lock' AND wait_event <> 'advisory'"); }
  std::string Waiting(const std::string& how) {
    return database_.AskText(
        absl::StrCat("SELECT count(*)::text FROM pg_stat_activity"
                     " WHERE datname = current_database() AND application_name = 'holdfastd' AND ",
                     how));
  }

  test::StoreDatabase database_{test::WhoseStore::kCommon};
  std::unique_ptr<pg::Connection> holder_;
  const std::array<TestFolder, 2> folders_;
  ServerProcess first_{folders_[0], {.dsn = database_.dsn()}};
  ServerProcess second_{folders_[1], {.dsn = database_.dsn()}};
  std::unique_ptr<WireClient> client_;
  std::unique_ptr<WireClient> other_;
  std::string token_;
};

TEST_F(PgTwins, CommitOnce) {
  const auto commit = test::CommitRequest(kSession, token(), Begin(), "said once");
  EXPECT_EQ(SendByEight(&Stub::CommitTurn, commit).message_count(), 1);
  EXPECT_EQ(client().Get(kSession).revision(), 3);
  EXPECT_EQ(RowsOf("log", absl::StrCat("msgs IS NOT NULL AND ", kOfTwins)), "1");
}

TEST_F(PgTwins, CreateOnce) {
  const auto created = SendByEight(&Stub::CreateSession, test::CreateRequest("born"));
  EXPECT_EQ(created.session().revision(), 1);
  EXPECT_EQ(RowsOf("session", "session_id = 'born'"), "1");
  EXPECT_EQ(RowsOf("log", "session_id = 'born'"), "1");
  const auto begin = test::BeginRequest("born", created.lease_token());
  EXPECT_EQ(client().Must(&Stub::BeginTurn, begin).turn(), 1);
}

TEST_F(PgTwins, ResumeOnce) {
  const auto resumed = SendByEight(&Stub::ResumeSession, test::ForceRequest(kSession));
  EXPECT_EQ(client().Get(kSession).lease().epoch(), 2);
  EXPECT_EQ(client().Get(kSession).revision(), 2);
  const auto begin = test::BeginRequest(kSession, resumed.lease_token());
  EXPECT_EQ(client().Must(&Stub::BeginTurn, begin).turn(), 1);
}

TEST_F(PgTwins, BeginAndAbandonOnce) {
  EXPECT_EQ(SendByEight(&Stub::BeginTurn, test::BeginRequest(kSession, token())).turn(), 1);
  EXPECT_EQ(client().Get(kSession).revision(), 2);
  SendByEight(&Stub::AbandonTurn, test::AbandonRequest(kSession, token(), 1));
  EXPECT_EQ(client().Get(kSession).last_turn(), 1);
  EXPECT_EQ(client().Get(kSession).revision(), 3);
}

TEST_F(PgTwins, UpdateCancelAndAuditOnce) {
  pb::UpdateSessionRequest update;
  update.set_request_id(test::NewRequestId());
  update.mutable_session()->set_session_id(kSession);
  (*update.mutable_session()->mutable_attributes())["title"] = "once";
  update.mutable_update_mask()->add_paths("attributes.title");
  SendByEight(&Stub::UpdateSession, update);
  Begin();
  SendByEight(&Stub::CancelSession, test::SessionCancelRequest(kSession, pb::CANCEL_SCOPE_TURN, 1));
  const std::string before = RowsOf("log");
  pb::AppendAuditRequest audit;
  audit.set_request_id(test::NewRequestId());
  audit.set_session_id(kSession);
  audit.set_audit_class("Approval");
  audit.set_code("granted");
  audit.set_correlation_id("turn-1");
  EXPECT_EQ(absl::StrCat(SendByEight(&Stub::AppendAudit, audit).seq() - 1), before);
}

TEST_F(PgTwins, ReleaseOnce) {
  SendByEight(&Stub::ReleaseLease, test::ReleaseRequest(kSession, token()));
  EXPECT_EQ(client().Get(kSession).lease().state(), pb::LEASE_STATE_FREE);
}

TEST_F(PgTwins, CloseOnce) {
  Begin();
  const auto closed = SendByEight(&Stub::CloseSession, test::CloseRequest(kSession, token()));
  EXPECT_EQ(closed.abandoned_turn(), 1);
  EXPECT_EQ(client().Get(kSession).revision(), 3);
}

}  // namespace
}  // namespace holdfast::testing
