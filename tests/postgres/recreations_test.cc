// Sessions in the place of deleted ones: rows of the deleted one that are still there, and
// background work that began before.
#include "session/refusal.h"
#include "tests/postgres/store_fixture.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::Not;

class PgRecreations : public PostgresStoreTest {
 protected:
  SessionUid Uid() { return store().LoadForDecision(key(), std::nullopt)->head.uid; }
  SessionUid Delete() {
    const SessionUid uid = Uid();
    Change gone = changes().Delete();
    gone.guard.lease = LeaseRule::kForce;
    gone.guard.uid = uid;
    Apply(gone);
    return uid;
  }
  Change CreateInPlaceOf(const SessionUid& former) {
    Change change = changes().Create();
    change.create->replaces = former;
    return change;
  }
  std::string Ask(const std::string& what) { return database().AskText("SELECT " + what); }
  void Sweep() {
    EXPECT_TRUE(store().ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10).ok());
  }
  // So many rows of the session in the log.
  void AddRows(int count) {
    database().Run(absl::StrCat(
        "INSERT INTO holdfast.log (tenant, session_id, n, generation, messages, events, audit, at,"
        " part) SELECT 'default', 'alpha', 1000 + g, 1, 0, 0, 0, now(), 0"
        " FROM generate_series(1, ",
        count, ") g"));
  }
};

TEST_F(PgRecreations, WaitUntilRowsOfDeletedSessionAreGone) {
  Create();
  AddRows(12'000);
  const SessionUid former = Delete();
  const Change creation = CreateInPlaceOf(former);
  statements().Take();
  const auto refused = store().Commit(creation);
  ASSERT_EQ(ReasonOf(refused), "STORE_UNAVAILABLE");
  EXPECT_THAT(statements().Take(), Not(Contains("change_alone"))) << "it was tried to be written";
  const Refusal refusal = RefusalOf(refused.status());
  EXPECT_TRUE(refusal.retry_after().has_value());
  EXPECT_EQ(ReasonOf(store().LoadForDecision(key(), std::nullopt).status()), "TOMBSTONED");
  Apply(creation);
  EXPECT_EQ(Ask("count(*)::text FROM holdfast.log"), "1");
}

// One statement finds the tombstone, one that nothing is left, and one writes.
TEST_F(PgRecreations, CostThreeStatements) {
  Create();
  const SessionUid former = Delete();
  clock().Advance(absl::Minutes(2));
  Sweep();
  statements().Take();
  Apply(CreateInPlaceOf(former));
  EXPECT_THAT(statements().Take(), ::testing::ElementsAre("load", "purge_one", "change_alone"));
}

TEST_F(PgRecreations, LoseNothingToWorkThatBeganBefore) {
  Create();
  RunTurn({Text("of the deleted one")});
  const SessionUid former = Delete();
  const Change creation = CreateInPlaceOf(former);
  const LeaseToken token = [&] {
    const Receipt receipt = Apply(creation);
    return *LeaseToken::Parse(receipt.token);
  }();
  const TurnNumber turn = Apply(changes().Begin(token)).turn;
  Apply(
      changes().Append(token, turn, {Note(turn, 1, "x"), SlotUpdate(turn, 2, MakeSlot("a", "x"))}));
  Change commit = changes().CommitTurn(token, turn);
  commit.messages = {Text("mine")};
  Apply(commit);
  const std::string counts =
      "(SELECT count(*) FROM holdfast.log WHERE msgs IS NOT NULL) || '/' ||"
      " (SELECT count(*) FROM holdfast.slot) || '/' || (SELECT count(*) FROM holdfast.journal)";
  const std::string before = Ask(counts);
  // As the deleted session's removal, and a prune of it, would go on.
  EXPECT_EQ(Ask("holdfast.purge_one('default', 'alpha', 1000)::text"), "0");
  EXPECT_EQ(Ask(absl::StrCat("holdfast.prune('default', 'alpha', '", former.value(),
                             "', 1000, 1000, 1000, '{}', '{}', 1, 0, '{}', 1000)::text")),
            "0");
  EXPECT_EQ(Ask(counts), before);
  EXPECT_NE(Ask(absl::StrCat("holdfast.prune('default', 'alpha', '", Uid().value(),
                             "', 1000, 1000, 1000, '{}', '{}', 1, 0, '{}', 1000)::text")),
            "0");
}

// Another server has the deleted session's head in its cache.
TEST_F(PgRecreations, AreSeenByServersThatRememberTheDeletedSession) {
  Create();
  const LeaseToken stale = token();
  const auto other = AnotherServer();
  ASSERT_EQ(ReasonOf(other->LoadForDecision(key(), std::nullopt).status()), "OK");
  const SessionUid former = Delete();
  Apply(CreateInPlaceOf(former));
  const auto late = other->Commit(changes().Begin(stale));
  const absl::Status refusal = late.ok() ? late->refusal : late.status();
  EXPECT_EQ(ReasonOf(refusal), "FENCED");
  Change repeated = CreateInPlaceOf(former);
  EXPECT_EQ(ReasonOf(other->Commit(repeated)), "SESSION_EXISTS");
  Close(other);
}

}  // namespace
}  // namespace holdfast::test
