// What becomes of a change whose answer was lost: it is sent again, and never acts twice.
#include "tests/postgres/store_fixture.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using Kind = CommitResult::Kind;

using PgInDoubt = PostgresStoreTest;

TEST_F(PgInDoubt, ALostAnswerIsFoundBySendingTheSameAgain) {
  Create();
  Change change = changes().CommitTurn(token(), Begin());
  change.messages = {Text("one")};
  statements().LoseAnswerOf("change");
  const auto result = store().Commit(change);
  ASSERT_EQ(ReasonOf(result), "OK");
  EXPECT_EQ(result->kind, Kind::kRepeated);
  EXPECT_EQ(result->receipt.revision, Revision(3));
  EXPECT_EQ(result->head.revision, Revision(3));
  EXPECT_THAT(Texts(), ElementsAre("one"));
}

TEST_F(PgInDoubt, AnExceptionBehindTheStatementIsALostAnswer) {
  Create();
  Change change = changes().CommitTurn(token(), Begin());
  change.messages = {Text("one")};
  statements().ThrowBehind("change");
  const auto result = store().Commit(change);
  ASSERT_EQ(ReasonOf(result), "OK");
  EXPECT_EQ(result->kind, Kind::kRepeated);
  EXPECT_THAT(Texts(), ElementsAre("one"));
}

TEST_F(PgInDoubt, NotifiesWatchersOfChangeWhoseAnswerWasLost) {
  Create();
  ASSERT_TRUE(store().WaitForEvents(absl::ZeroDuration()).ok());
  Change change = changes().Begin(token());
  change.events = {{.name = "SessionTurnStart"}};
  statements().LoseAnswerOf("change");
  ASSERT_EQ(ReasonOf(store().Commit(change)), "OK");
  const auto notified = store().WaitForEvents(absl::ZeroDuration());
  ASSERT_TRUE(notified.ok());
  EXPECT_THAT(notified->sessions, ElementsAre(key()));
}

// The read waits for the delete, and must not answer from the row before it.
TEST_F(PgInDoubt, ReportsNoFateDuringDelete) {
  Create();
  const Change committed = changes().Begin(token());
  Apply(committed);
  Apply(changes().ResumeActive());  // so that an absent reply would be final
  const auto remover = holdfast::testing::Connect(database().dsn());
  ASSERT_EQ(remover->Script("BEGIN; UPDATE holdfast.session SET deleted = true, head = '',"
                            " version = version + 1, active_at = holdfast.clock()"),
            absl::OkStatus());
  absl::StatusOr<LoadedSession> loaded = absl::UnknownError("not yet");
  std::jthread asker([&] { loaded = store().LoadForOutcome(key(), committed.request->id); });
  const std::string waiting =
      "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()"
      " AND wait_event_type = 'Lock'";
  ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return database().AskText(waiting) == "1"; }));
  ASSERT_EQ(remover->Script("COMMIT"), absl::OkStatus());
  asker.join();
  EXPECT_EQ(ReasonOf(loaded.status()), "TOMBSTONED");
}

TEST_F(PgInDoubt, ALostAnswerToEntriesIsFoundByTheirNumbers) {
  Create();
  const TurnNumber turn = Begin();
  statements().LoseAnswerOf("change");
  const auto result = store().Commit(changes().Append(token(), turn, {Note(turn, 1, "a")}));
  ASSERT_EQ(ReasonOf(result), "OK");
  EXPECT_EQ(result->receipt.last_entry, EntryNumber(1));
  EXPECT_EQ(result->head.journal, JournalNumber(1));
}

TEST_F(PgInDoubt, AnAnswerThatIsAlwaysLostIsAnUnknownOutcome) {
  Create();
  const Change change = changes().Begin(token());
  statements().LoseAnswerOf("change", 100);
  const auto result = store().Commit(change);
  EXPECT_EQ(ReasonOf(result), "STORE_UNAVAILABLE");
  EXPECT_EQ(RefusalOf(result.status()).facts().at("outcome"), "unknown");
  statements().LoseAnswerOf("", 0);
  const auto again = store().Commit(change);
  ASSERT_EQ(ReasonOf(again), "OK");
  EXPECT_EQ(again->kind, Kind::kRepeated);
  EXPECT_EQ(again->receipt.turn, TurnNumber(1));
}

// What is prepared first was not carried out when that fails, so it is sent over another one.
TEST_F(PgInDoubt, AConnectionThatEndsWhileAChangeIsPreparedCostsNothing) {
  Create();
  pg::Tap tap;
  bool ended = false;
  tap.before = [&](std::string_view name) -> std::optional<pg::Failure> {
    if (name != "change" || std::exchange(ended, true)) return std::nullopt;
    database().Run(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    return std::nullopt;
  };
  const auto other = AnotherServer(std::make_shared<const pg::Tap>(std::move(tap)));
  Change change = changes().Write(token());
  change.messages = {Text("one")};
  const auto result = other->Commit(change);
  ASSERT_EQ(ReasonOf(result), "OK");
  EXPECT_EQ(result->kind, Kind::kApplied);
  EXPECT_TRUE(ended);
  EXPECT_THAT(Texts(), ElementsAre("one"));
  Close(other);
}

TEST_F(PgInDoubt, AChangeWhoseBackendDiesInItsMiddleActsOnce) {
  Create();
  Change change = changes().Write(token());
  change.messages = {Text("one")};
  const auto holder = holdfast::testing::Connect(database().dsn());
  ASSERT_EQ(holder->Script("BEGIN; SELECT 1 FROM holdfast.session FOR UPDATE"), absl::OkStatus());
  absl::StatusOr<CommitResult> result = absl::UnknownError("not yet");
  std::jthread writer([&] { result = store().Commit(change); });
  // Each one that waits for the row is ended, the last of the tries apart.
  const std::string waiting =
      "SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity WHERE datname ="
      " current_database() AND wait_event_type = 'Lock'";
  for (int ended = 0; ended < 2; ++ended) {
    ASSERT_TRUE(holdfast::testing::WaitUntil([&] { return database().AskText(waiting) == "1"; }));
  }
  ASSERT_EQ(holder->Script("COMMIT"), absl::OkStatus());
  writer.join();
  ASSERT_EQ(ReasonOf(result), "OK");
  EXPECT_THAT(Texts(), ElementsAre("one"));
  EXPECT_EQ(result->head.revision, Revision(2));
}

TEST_F(PgInDoubt, ARepeatWritesItsSessionAgain) {
  Create();
  const Change change = changes().Begin(token());
  Apply(change);
  const std::string writer = "SELECT xmin::text FROM holdfast.session";
  const std::string first = database().AskText(writer);
  ASSERT_EQ(ReasonOf(store().Commit(change)), "OK");
  const std::string second = database().AskText(writer);
  EXPECT_NE(first, second);
  ASSERT_TRUE(store().LoadForDecision(key(), change.request->id).ok());
  EXPECT_NE(second, database().AskText(writer));
}

TEST_F(PgInDoubt, AnotherServersChangeIsDecidedOnAgain) {
  Create();
  const auto other = AnotherServer();
  ASSERT_EQ(ReasonOf(other->Commit(changes().Update({{"title", "theirs"}}))), "OK");
  statements().Take();
  // Decided on an old head, and again on the one that the write found.
  Apply(changes().Update({{"agent", "ours"}}));
  EXPECT_THAT(statements().Take(), ElementsAre("change", "change"));
  Close(other);
}

// As after a failover to a standby that had not got everything.
TEST_F(PgInDoubt, AHeadOfALostHistoryIsNotWrittenOn) {
  Create();
  const auto other = AnotherServer();
  database().Run(
      "CREATE TABLE holdfast.test_kept AS SELECT version, head, head_sum FROM holdfast.session");
  Apply(changes().Update({{"title", "lost"}}));
  database().Run(
      "UPDATE holdfast.session s SET version = k.version, head = k.head, head_sum = k.head_sum"
      " FROM holdfast.test_kept k;"
      "DELETE FROM holdfast.log l USING holdfast.test_kept k WHERE l.n > k.version");
  // The version that this server knows comes a second time.
  ASSERT_EQ(ReasonOf(other->Commit(changes().Update({{"agent", "kept"}}))), "OK");
  const auto result = store().Commit(changes().Update({{"purpose", "next"}}));
  ASSERT_EQ(ReasonOf(result), "OK");
  EXPECT_THAT(result->head.attributes,
              ElementsAre(::testing::Pair("agent", "kept"), ::testing::Pair("purpose", "next")));
  statements().Take();
  Apply(changes().Update({{"purpose", "again"}}));
  EXPECT_THAT(statements().Take(), ElementsAre("change"));
  Close(other);
}

TEST_F(PgInDoubt, NothingIsRefusedOnAHeadFromMemory) {
  Create();
  const auto other = AnotherServer();
  ASSERT_EQ(ReasonOf(other->Commit(changes().Release(token()))), "OK");
  // Here the lease still looks held; there it is free.
  Apply(changes().Resume());
  Close(other);
}

TEST_F(PgInDoubt, ALeaseThatWasRenewedElsewhereIsNotTakenOnAHeadFromMemory) {
  Create();
  const auto other = AnotherServer();
  clock().Advance(absl::Seconds(61));
  ASSERT_TRUE(other->RenewLeases({{.key = key(), .token = token()}}).at(0).ok());
  EXPECT_EQ(ReasonOf(store().Commit(changes().Resume())), "LEASE_HELD");
  Close(other);
}

TEST_F(PgInDoubt, NotifiesOfEventsOfAnotherServer) {
  Create();
  const auto other = AnotherServer();
  Change change = changes().Update({{"title", "x"}});
  change.events = {{.name = "Note"}};
  ASSERT_EQ(ReasonOf(store().Commit(change)), "OK");
  const auto notified = other->WaitForEvents(absl::Seconds(60));
  ASSERT_TRUE(notified.ok());
  EXPECT_THAT(notified->sessions, Contains(key()));
  Close(other);
}

}  // namespace
}  // namespace holdfast::test
