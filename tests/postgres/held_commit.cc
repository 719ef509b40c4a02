#include "tests/postgres/held_commit.h"

#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace holdfast::testing {
namespace {

int64_t LockOf(Holding holding) { return static_cast<int64_t>(holding); }

std::string WaitersOf(Holding holding) {
  return absl::StrCat("pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = ",
                      LockOf(holding));
}

}  // namespace

// At the end of a transaction its statement has been forgotten, except by the statistics.
std::string NameOf(Fate fate, Way way) {
  return absl::StrCat(fate == Fate::kTakesPlace ? "ThatTakesPlace" : "ThatIsRolledBack",
                      way == Way::kOpen ? "" : "WithTheWayShut");
}

void HeldCommitTest::SetUp() {
  FaultsTest::SetUp();
  Run(absl::StrCat(
      "CREATE FUNCTION holdfast.test_wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " PERFORM pg_advisory_xact_lock_shared(CASE WHEN (SELECT query FROM pg_stat_activity"
      " WHERE pid = pg_backend_pid()) LIKE '%holdfast.change(p_tenants%' THEN ",
      LockOf(Holding::kGroup), " ELSE ", LockOf(Holding::kOne),
      " END); RETURN NULL; END $$;"
      "CREATE CONSTRAINT TRIGGER test_wait AFTER INSERT ON holdfast.log"
      " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.msgs IS NOT NULL)"
      " EXECUTE FUNCTION holdfast.test_wait()"));
  holder_ = Direct();
}

void HeldCommitTest::Hold(Holding holding) {
  EXPECT_EQ(holder_->Script(absl::StrCat("SELECT pg_advisory_lock(", LockOf(holding), ")")),
            absl::OkStatus());
}

int64_t HeldCommitTest::Waiting(Holding holding) const {
  return Number("SELECT count(DISTINCT pid) FROM " + WaitersOf(holding));
}

void HeldCommitTest::AwaitCommit(Holding holding) { Note(WaitersOf(holding)); }

void HeldCommitTest::AwaitStandbyWait() {
  Note("pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%holdfast.change(%'");
}

void HeldCommitTest::Note(const std::string& rows) {
  ASSERT_TRUE(WaitUntil([&] { return Number("SELECT count(*) FROM " + rows) > 0; }));
  backend_ = Number("SELECT min(pid) FROM " + rows);
  transaction_ = AskText(
      absl::StrCat("SELECT backend_xid::text FROM pg_stat_activity WHERE pid = ", backend_));
}

void HeldCommitTest::Release(Holding holding) {
  EXPECT_EQ(holder_->Script(absl::StrCat("SELECT pg_advisory_unlock(", LockOf(holding), ")")),
            absl::OkStatus());
}

void HeldCommitTest::Decide(Fate fate, Holding holding) {
  if (fate == Fate::kIsRolledBack) {
    Run(absl::StrCat("SELECT pg_terminate_backend(", backend_, ", 60000)"));
  }
  Release(holding);
  ASSERT_TRUE(Await(absl::StrCat("SELECT count(*) FROM pg_stat_activity WHERE pid = ", backend_,
                                 " AND state = 'active'"),
                    0));
}

}  // namespace holdfast::testing
