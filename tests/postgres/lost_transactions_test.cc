// Transactions that PostgreSQL rolls back for others' sakes: deadlocks and failures to serialize.
// The change is tried again, a few times.
#include "tests/postgres/faults_fixture.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <future>
#include <string>

namespace holdfast::testing {
namespace {

class PgLostTransactions : public FaultsTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // From now on each transaction that writes a message fails, until `tries` were made.
  void LoseUntil(int tries) {
    Run(
        absl::StrCat("CREATE SEQUENCE holdfast.test_tries;"
                     "CREATE FUNCTION holdfast.test_lose() RETURNS trigger LANGUAGE plpgsql AS $$"
                     " BEGIN IF nextval('holdfast.test_tries') < ",
                     tries, " THEN RAISE EXCEPTION 'lost' USING ERRCODE = '", GetParam(),
                     "'; END IF; RETURN NULL; END $$;"
                     "CREATE TRIGGER test_lose AFTER INSERT ON holdfast.log FOR EACH ROW"
                     " WHEN (NEW.msgs IS NOT NULL) EXECUTE FUNCTION holdfast.test_lose()"));
  }
  int64_t Tries() { return Number("SELECT last_value FROM holdfast.test_tries"); }
  void Forgive() {
    Run("DROP FUNCTION holdfast.test_lose() CASCADE; DROP SEQUENCE holdfast.test_tries");
  }
};

TEST_P(PgLostTransactions, AreTriedAgain) {
  const auto commit = served().Prepare("one", token(), "at last");
  LoseUntil(3);
  EXPECT_EQ(served().Commit(commit).verdict.reason, "OK");
  EXPECT_EQ(Tries(), 3);
  Forgive();
  ExpectNormal({"at last"});
}

TEST_P(PgLostTransactions, AreGivenUpAfterThreeTries) {
  const auto commit = served().Prepare("one", token(), "late");
  LoseUntil(1000);
  const Committed refused = served().Commit(commit);
  EXPECT_EQ(refused.verdict.reason, "STORE_UNAVAILABLE");
  EXPECT_EQ(OutcomeOf(refused.verdict), "known");
  EXPECT_TRUE(refused.verdict.retry_after.has_value());
  EXPECT_EQ(Tries(), 3);
  // The database is not to blame: there are others.
  EXPECT_TRUE(served().server.Serves());
  EXPECT_TRUE(served().Texts("one").empty());
  Forgive();
  EXPECT_EQ(served().Commit(commit).verdict.reason, "OK");
  ExpectNormal({"late"});
}

INSTANTIATE_TEST_SUITE_P(Pg, PgLostTransactions, ::testing::Values("40P01", "40001"),
                         [](const auto& made) {
                           return std::string(made.param) == "40P01" ? "Deadlock" : "Serialization";
                         });

using PgDeadlock = FaultsTest;

// A deadlock: another transaction holds the change's key in the log and waits for the session's
// row, which the change holds while it waits for that key. The change is the one that detects it:
// it waits last, and its deadlock_timeout is the shorter.
TEST_F(PgDeadlock, WithAnothersTransactionCostsOneTry) {
  const auto commit = served().Prepare("one", token(), "once");
  Run("CREATE SEQUENCE holdfast.test_tries;"
      "CREATE FUNCTION holdfast.test_wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " PERFORM nextval('holdfast.test_tries'); PERFORM pg_advisory_xact_lock_shared(7);"
      " RETURN NEW; END $$;"
      "CREATE TRIGGER test_wait BEFORE INSERT ON holdfast.log FOR EACH ROW"
      " WHEN (NEW.msgs IS NOT NULL) EXECUTE FUNCTION holdfast.test_wait();"
      "ALTER DATABASE postgres SET deadlock_timeout = '10ms'");
  gate().Cut();  // the server's next connections look so soon
  const auto other = Direct();
  ASSERT_EQ(other->Script("SET deadlock_timeout = '1h'"), absl::OkStatus());
  ASSERT_EQ(other->Script("BEGIN; INSERT INTO holdfast.log (tenant, session_id, n, generation,"
                          " messages, events, audit, at, part)"
                          " SELECT tenant, session_id, version + 1, generation, 0, 0, 0, now(), 0"
                          " FROM holdfast.session WHERE session_id = 'one'"),
            absl::OkStatus());
  const auto holder = Direct();
  ASSERT_EQ(holder->Script("SELECT pg_advisory_lock(7)"), absl::OkStatus());
  auto answer = served().CommitBeside(commit);
  ASSERT_TRUE(
      Await("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", 1));
  auto wanted = std::async(std::launch::async, [&] {
    return other->Script("SELECT 1 FROM holdfast.session WHERE session_id = 'one' FOR UPDATE");
  });
  ASSERT_TRUE(
      Await("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND wait_event <> 'advisory'",
            1));
  ASSERT_EQ(holder->Script("SELECT pg_advisory_unlock(7)"), absl::OkStatus());
  EXPECT_EQ(wanted.get(), absl::OkStatus());
  ASSERT_EQ(other->Script("ROLLBACK"), absl::OkStatus());
  EXPECT_EQ(answer.get().verdict.reason, "OK");
  // Where the other transaction is slow to take the row that it was left, there is one more.
  const int64_t tries = Number("SELECT last_value FROM holdfast.test_tries");
  EXPECT_GE(tries, 2);
  EXPECT_TRUE(
      Await("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'", tries - 1));
  ExpectNormal({"once"});
}

}  // namespace
}  // namespace holdfast::testing
