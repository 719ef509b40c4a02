// Several servers, as processes, over one database.
#include "tests/support/postgres.h"
#include "tests/support/requests.h"
#include "tests/support/server_process.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "gtest/gtest.h"

#include <memory>
#include <string>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;

// Takes a whole turn that says `text`.
void TakeTurn(WireClient& client, const std::string& token, const std::string& text) {
  const auto begun = client.Must(&Stub::BeginTurn, test::BeginRequest("one", token));
  client.Must(&Stub::CommitTurn, test::CommitRequest("one", token, begun.turn(), text));
}

// The same, asking with the same request until the store is there again.
void TakeTurnWithPatience(WireClient& client, const std::string& token, const std::string& text) {
  const auto begin = test::BeginRequest("one", token);
  ASSERT_TRUE(WaitUntil([&] { return client.Reason(&Stub::BeginTurn, begin) == "OK"; }));
  const auto turn = client.Must(&Stub::BeginTurn, begin).turn();
  client.Must(&Stub::CommitTurn, test::CommitRequest("one", token, turn, text));
}

// A server and a client that asks it.
struct AskedServer {
  explicit AskedServer(const std::string& dsn) : server(folder, {.dsn = dsn}) {}
  void Start() {
    ASSERT_TRUE(server.Start()) << server.Log();
    client = std::make_unique<WireClient>(server.address());
  }

  TestFolder folder;
  ServerProcess server;
  std::unique_ptr<WireClient> client;
};

class Servers : public ::testing::Test {
 protected:
  void SetUp() override {
    postgres_.Start();
    ASSERT_TRUE(pg::Migrate(*ConnectAdmin(postgres_.dsn())).ok());
    ASSERT_NO_FATAL_FAILURE(first_.Start());
    ASSERT_NO_FATAL_FAILURE(second_.Start());
    token_ = client().Must(&Stub::CreateSession, test::CreateRequest("one")).lease_token();
  }

  WireClient& client() { return *first_.client; }
  WireClient& other() { return *second_.client; }
  ServerProcess& server() { return first_.server; }
  OwnPostgres& postgres() { return postgres_; }
  const std::string& token() { return token_; }
  void RestartFirst() { first_.Start(); }

 private:
  OwnPostgres postgres_{{"fsync=off"}};
  AskedServer first_{postgres_.dsn()};
  AskedServer second_{postgres_.dsn()};
  std::string token_;
};

TEST_F(Servers, TheOtherGoesOnWithASessionWhoseServerWasKilled) {
  TakeTurn(client(), token(), "at the first");
  server().Kill();
  pb::ResumeSessionRequest request = test::ResumeRequest("one");
  request.set_lease_token(token());
  EXPECT_EQ(other().Must(&Stub::ResumeSession, request).lease_token(), token());
  TakeTurn(other(), token(), "at the other");
  RestartFirst();
  EXPECT_EQ(client().Get("one").message_count(), 2);
  EXPECT_EQ(client().Everything("one"), other().Everything("one"));
}

// The first server's cached head is stale, and does not admit the fenced holder.
TEST_F(Servers, ATakeOverAtOneFencesTheHolderAtTheOther) {
  TakeTurn(client(), token(), "before");
  const auto taken = other().Must(&Stub::ResumeSession, test::ForceRequest("one"));
  EXPECT_EQ(client().Reason(&Stub::BeginTurn, test::BeginRequest("one", token())), "FENCED");
  TakeTurn(client(), taken.lease_token(), "after");
  TakeTurn(other(), taken.lease_token(), "and after");
  EXPECT_EQ(client().Get("one").message_count(), 3);
}

TEST_F(Servers, ARepeatIsAnsweredByTheOtherAsByTheFirst) {
  const auto begun = client().Must(&Stub::BeginTurn, test::BeginRequest("one", token()));
  const auto commit = test::CommitRequest("one", token(), begun.turn(), "once");
  const auto answered = client().Must(&Stub::CommitTurn, commit);
  server().Kill();
  EXPECT_EQ(other().Must(&Stub::CommitTurn, commit).revision(), answered.revision());
  EXPECT_EQ(other().Get("one").message_count(), 1);
}

// Long enough for the servers to detect it: they log it, and neither end nor stop trying.
TEST_F(Servers, TheyGoOnWhenPostgresqlIsKilledAndComesBack) {
  TakeTurn(client(), token(), "before");
  postgres().Kill();
  const auto begin = test::BeginRequest("one", token());
  EXPECT_EQ(client().Reason(&Stub::BeginTurn, begin), "STORE_UNAVAILABLE");
  EXPECT_EQ(other().Reason(&Stub::BeginTurn, begin), "STORE_UNAVAILABLE");
  const auto serves = [&] { return server().Serves(); };
  EXPECT_TRUE(WaitUntil([&] { return !serves(); }));
  EXPECT_EQ(client().Reason(&Stub::BeginTurn, begin), "STORE_UNAVAILABLE");
  postgres().Start();
  EXPECT_TRUE(WaitUntil(serves));
  TakeTurnWithPatience(client(), token(), "after");
  EXPECT_EQ(other().Get("one").message_count(), 2);
  EXPECT_EQ(server().Stop().exit_code, 0);
}

int64_t MessagesIn(const std::string& dsn) {
  constexpr pg::Statement kMessages = {"messages", "SELECT messages FROM holdfast.session"};
  const pg::Answer answer = Connect(dsn)->Run(kMessages, pg::Params());
  return std::get<pg::Rows>(answer).Int(0, 0);
}

// With a standby that every commit waits for. The old primary, which comes back, is named first.
TEST(Failover, LosesNothingAndTheOldPrimaryIsLeftAlone) {
  OwnPostgres primary({"fsync=off", "synchronous_standby_names=*"});
  OwnPostgres standby({"fsync=off"});
  primary.Start();
  standby.CopyFrom(primary);
  standby.Start();
  ASSERT_TRUE(pg::Migrate(*ConnectAdmin(primary.dsn())).ok());
  AskedServer served("host=" + primary.directory() + "," + standby.directory() +
                     " user=holdfast dbname=postgres");
  served.Start();
  WireClient& client = *served.client;
  const std::string token =
      client.Must(&Stub::CreateSession, test::CreateRequest("one")).lease_token();
  TakeTurn(client, token, "before");

  primary.Kill();
  EXPECT_TRUE(WaitUntil([&] { return !served.server.Serves(); }));
  ASSERT_EQ(Connect(standby.dsn())->Script("SELECT pg_promote(true, 60)"), absl::OkStatus());
  TakeTurnWithPatience(client, token, "after");
  EXPECT_EQ(client.Get("one").message_count(), 2);

  primary.Start();
  // So that every connection has to be made again.
  ASSERT_EQ(Connect(standby.dsn())
                ->Script("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                         "WHERE application_name = 'holdfastd' AND pid <> pg_backend_pid()"),
            absl::OkStatus());
  TakeTurnWithPatience(client, token, "with the old primary back");
  EXPECT_EQ(client.Get("one").message_count(), 3);
  EXPECT_EQ(MessagesIn(standby.dsn()), 3);
  EXPECT_EQ(MessagesIn(primary.dsn()), 1);
}

}  // namespace
}  // namespace holdfast::testing
