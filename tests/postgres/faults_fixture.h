// A real server over a real PostgreSQL with a gate in between, for what can happen to the two.
#ifndef HOLDFAST_TESTS_POSTGRES_FAULTS_FIXTURE_H_
#define HOLDFAST_TESTS_POSTGRES_FAULTS_FIXTURE_H_

#include "store-postgres/pg/connection.h"
#include "tests/support/postgres.h"
#include "tests/support/postgres_gate.h"
#include "tests/support/server_process.h"
#include "tests/support/wire_client.h"

#include "absl/time/time.h"
#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

using Stub = WireClient::Stub;
using Committed = Answer<pb::CommitTurnResponse>;

// What a failed answer says of its effect; empty where it says nothing.
std::string OutcomeOf(const Verdict& verdict);

// A server of its own with a client.
struct Served {
  explicit Served(ServerSettings settings) : server(folder, std::move(settings)) {}
  void Start();
  // A new session, and the token of its lease.
  std::string Create(const std::string& session) const;
  // Begins a turn and makes the request that will commit `text` in it.
  pb::CommitTurnRequest Prepare(const std::string& session, const std::string& token,
                                const std::string& text) const;
  // Takes a whole turn.
  void TakeTurn(const std::string& session, const std::string& token,
                const std::string& text) const;
  Committed Commit(const pb::CommitTurnRequest& request,
                   absl::Duration patience = WireClient::kPatience) const;
  // The same, by a thread of its own.
  std::future<Committed> CommitBeside(const pb::CommitTurnRequest& request) const;
  // Sends it again and again, as a client does, until the store has taken it.
  void CommitAtLast(const pb::CommitTurnRequest& request) const;
  std::vector<std::string> Texts(const std::string& session) const;

  TestFolder folder;
  ServerProcess server;
  std::unique_ptr<WireClient> client;
};

// The session `one` is there, and its lease is held.
class FaultsTest : public ::testing::Test {
 protected:
  explicit FaultsTest(std::vector<std::string> settings = {"fsync=off"})
      : postgres_(std::move(settings)), gate_(postgres_.directory()) {}
  void SetUp() override;

  OwnPostgres& postgres() { return postgres_; }
  PostgresGate& gate() { return gate_; }
  Served& served() { return *served_; }
  const std::string& token() { return token_; }

  // Starts a server, and makes the session: the first one of a test, in place of that of SetUp.
  void Serve(ServerSettings settings);

  // Another connection to the database, past the gate.
  [[nodiscard]] std::unique_ptr<pg::Connection> Direct() const { return Connect(postgres_.dsn()); }
  // Several statements, which must succeed.
  void Run(const std::string& sql) const;
  // The one number that `sql` answers.
  [[nodiscard]] int64_t Number(const std::string& sql) const;
  // The one text that `sql` answers; empty for none.
  [[nodiscard]] std::string AskText(const std::string& sql) const;
  // Waits until `sql` answers `number`.
  [[nodiscard]] bool Await(const std::string& sql, int64_t number) const;

  // Expects that the service is normal again: it is healthy, the session holds just `texts` and
  // takes a turn, and sessions can be created.
  void ExpectNormal(std::vector<std::string> texts);

 private:
  OwnPostgres postgres_;
  PostgresGate gate_;
  std::unique_ptr<Served> served_;
  std::string token_;
};

// Ends every backend of other connections; a statement of SQL.
inline constexpr char kEndOthers[] =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_POSTGRES_FAULTS_FIXTURE_H_
