// One backend of PostgreSQL that is killed while it commits: the database ends every connection and
// recovers, and the change is there once.
#include "store-postgres/pg/connection.h"
#include "tests/postgres/held_commit.h"
#include "tests/support/wait.h"

#include "absl/strings/match.h"
#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace holdfast::testing {
namespace {

class PgBackendKill : public HeldCommitTest {
 protected:
  // Kills the backend that was noted with SIGKILL, as the kernel does when memory runs out.
  void KillBackend() {
    const auto bystander = Direct();
    ASSERT_EQ(kill(static_cast<pid_t>(backend()), SIGKILL), 0);
    ASSERT_TRUE(WaitUntil([&] { return absl::StrContains(postgres().Log(), "reinitializing"); }));
    EXPECT_FALSE(bystander->LooksUsable());
    ASSERT_TRUE(WaitUntil([&] { return pg::Connection::Open({.dsn = postgres().dsn()}).ok(); }));
  }
  // What the call came to while the database was away, and then that it acts.
  void Finish(const Committed& answer, const pb::CommitTurnRequest& commit) {
    if (answer.verdict.reason != "OK") {
      EXPECT_EQ(answer.verdict.reason, "STORE_UNAVAILABLE");
      EXPECT_EQ(OutcomeOf(answer.verdict), "unknown");
      served().CommitAtLast(commit);
    }
    EXPECT_EQ(Number("SELECT coalesce(sum(messages), 0)::bigint FROM holdfast.session"), 1);
    EXPECT_TRUE(postgres().Running());
    ExpectNormal({"once"});
  }
};

TEST_F(PgBackendKill, InsideCommitCostsEveryConnectionAndTheChangeActsOnce) {
  const auto commit = served().Prepare("one", token(), "once");
  Hold(Holding::kOne);
  auto answer = served().CommitBeside(commit);
  AwaitCommit(Holding::kOne);
  KillBackend();  // PostgreSQL then ends all backends, also the one that holds the lock
  Finish(answer.get(), commit);
}

// It has written its commit, and waits for a standby that is not there.
TEST_F(PgBackendKill, BehindItsCommitRecordCostsEveryConnectionAndTheChangeIsThere) {
  const auto commit = served().Prepare("one", token(), "once");
  Run("ALTER SYSTEM SET synchronous_standby_names = 'absent'");
  Run("SELECT pg_reload_conf()");
  ASSERT_TRUE(WaitUntil([&] { return AskText("SHOW synchronous_standby_names") == "absent"; }));
  auto answer = served().CommitBeside(commit);
  AwaitStandbyWait();
  Run("ALTER SYSTEM RESET synchronous_standby_names");
  KillBackend();
  Run("SELECT pg_reload_conf()");
  Finish(answer.get(), commit);
  EXPECT_EQ(AskText("SELECT xmin::text FROM holdfast.log WHERE msgs IS NOT NULL"), transaction());
}

}  // namespace
}  // namespace holdfast::testing
