// Changes of many sessions at once: they share a statement, and no one fails another.
#include "session/limits.h"
#include "store-postgres/postgres_store.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/batched_commits.h"
#include "tests/support/grouped_commit.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <string>
#include <thread>

namespace holdfast::test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr int kSessionsOfAGroup = 8;
constexpr PageLimit kWholeSession{.items = 100, .bytes = 1 << 20};

class PgGroupCommit : public PostgresStoreTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < kSessionsOfAGroup; ++i) {
      many_.push_back(std::make_unique<Changes>(Key(absl::StrCat("s", i)), random()));
      tokens_.push_back(*LeaseToken::Parse(Apply(many_.back()->Create()).token));
    }
    results_.resize(kSessionsOfAGroup, absl::UnknownError("not yet"));
  }

  // A commit of `text` into session `i`, with everything that a change can add.
  Change Writing(int i, const std::string& text) {
    Change change = many_[i]->Write(tokens_[i]);
    change.messages = {Text(text + " a"), Text(text + " b")};
    change.slots = {MakeSlot("memory", text)};
    change.events = {{.name = "Written"}};
    change.audit = AuditDraft{.audit_class = "Test", .code = "write"};
    return change;
  }

  // Commits `changes`, one of each session, in one statement.
  void CommitTogether(const std::vector<Change>& changes) {
    statements().Take();
    results_ = test::CommitTogether(store(), changes);
    sent_ = statements().Take();
    EXPECT_THAT(sent_, Contains("change_many"));
  }

  // The same with one that writes `text` into each.
  void WriteTogether(const std::string& text) {
    std::vector<Change> changes;
    for (int i = 0; i < kSessionsOfAGroup; ++i) changes.push_back(Writing(i, text));
    CommitTogether(changes);
  }

  std::vector<std::string> Reasons() {
    std::vector<std::string> reasons;
    for (const auto& result : results_) reasons.push_back(ReasonOf(result));
    return reasons;
  }
  size_t MessagesOf(int i) {
    const auto page =
        store().ReadMessages(many_[i]->key(), std::nullopt, MessageSeq(), kWholeSession);
    EXPECT_TRUE(page.ok());
    return page.ok() ? page->messages.size() : 0;
  }

  std::vector<std::unique_ptr<Changes>> many_;
  std::vector<LeaseToken> tokens_;
  std::vector<absl::StatusOr<CommitResult>> results_;
  std::vector<std::string> sent_;  // for the last ones written together
};

TEST_F(PgGroupCommit, WhatWaitsTogetherIsWrittenTogetherAndWhole) {
  WriteTogether("together");
  EXPECT_THAT(Reasons(), Each("OK"));
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    const SessionKey& key = many_[i]->key();
    EXPECT_EQ(results_[i]->head.messages.value(), 2U);
    EXPECT_EQ(results_[i]->head.lease.state, LeaseState::kLive);
    EXPECT_EQ(MessagesOf(i), 2U);
    const auto loaded = store().LoadForDecision(key, std::nullopt);
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(loaded->head.revision, results_[i]->head.revision);
    EXPECT_EQ(loaded->head.audit_chain, results_[i]->head.audit_chain);
    const auto slots = store().ReadSlots(key, {.owners = {"memory"}});
    ASSERT_TRUE(slots.ok() && slots->slots.size() == 1);
    EXPECT_EQ(slots->slots[0].slot.data, "together");
    const auto events = store().ReadEvents(key, EventSeq(), kWholeSession);
    ASSERT_TRUE(events.ok());
    EXPECT_EQ(events->events.back().seq, loaded->head.last_event);
    const auto audit = store().ReadAudit(key, AuditSeq(), kWholeSession);
    ASSERT_TRUE(audit.ok());
    EXPECT_EQ(audit->records.back().hash, loaded->head.audit_chain);
  }
}

// As `stores[].group` says.
TEST_F(PgGroupCommit, AStatementHasNoMoreChangesThanIsConfigured) {
  pg::PostgresOptions options;
  options.connect.dsn = database().dsn();
  options.connect.tap = statements().tap();
  options.group = 3;
  const auto other = pg::MakePostgresStore(options, clock(), random());
  ASSERT_TRUE(other->Init().ok());
  std::vector<Change> changes;
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    ASSERT_TRUE(other->LoadForDecision(many_[i]->key(), std::nullopt).ok());
    changes.push_back(Writing(i, "in parts"));
  }
  statements().Take();
  results_ = test::CommitTogether(*other, changes);
  EXPECT_THAT(Reasons(), Each("OK"));
  EXPECT_THAT(statements().Take(), ElementsAre("change_many", "change_many", "change_many"));
  EXPECT_EQ(database().AskText("SELECT count(DISTINCT xmin::text)::text FROM holdfast.session"),
            "3");
  Close(other);
}

TEST_F(PgGroupCommit, NothingReadsMoreThanItsKeys) {
  WriteTogether("planned");
  std::vector<RenewRequest> renewals;
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    renewals.push_back({.key = many_[i]->key(), .token = tokens_[i]});
    const TurnNumber turn = Apply(many_[i]->Begin(tokens_[i])).turn;
    Apply(many_[i]->Append(tokens_[i], turn, {Note(turn, 1, "a")}));
    Apply(many_[i]->Append(tokens_[i], turn, {Note(turn, 1, "a")}));
    Apply(many_[i]->CommitTurn(tokens_[i], turn));
    const SessionKey& key = many_[i]->key();
    EXPECT_TRUE(store().LoadForDecision(key, NewRequest(random())).ok());
    EXPECT_TRUE(store().ReadMessages(key, Revision(1), MessageSeq(), kWholeSession).ok());
    EXPECT_TRUE(store().ReadSlots(key, {.owners = {"memory"}}).ok());
    EXPECT_TRUE(store().ReadJournal(key, {.turn = turn}, kWholeSession).ok());
    EXPECT_TRUE(store().ReadEvents(key, EventSeq(), kWholeSession).ok());
    EXPECT_TRUE(store().ReadAudit(key, AuditSeq(), kWholeSession).ok());
  }
  for (const auto& renewed : store().RenewLeases(renewals)) EXPECT_TRUE(renewed.ok());
  EXPECT_TRUE(store().List({.tenant = key().tenant, .limit = 2}).ok());
  EXPECT_TRUE(store().List({.tenant = key().tenant, .project_root = "/x", .limit = 2}).ok());
  EXPECT_TRUE(store().ListDue(DueKind::kAbandoned, absl::Minutes(5), std::nullopt, 10).ok());
  EXPECT_TRUE(store().ListDue(DueKind::kCancelled, absl::Minutes(5), std::nullopt, 10).ok());
  CloseStore();  // its connections report their statistics when they end
  const auto counted = [&](const char* what) {
    return database().AskText(
        absl::StrCat("SELECT coalesce(string_agg(relname, ', '), 'none') FROM pg_stat_user_tables"
                     " WHERE schemaname = 'holdfast' AND ",
                     what));
  };
  ASSERT_TRUE(holdfast::testing::WaitUntil(
      [&] { return counted("relname = 'session' AND idx_scan > 0") == "session"; }));
  EXPECT_EQ(counted("seq_scan > 0 AND relname NOT IN ('store', 'probe', 'migration', 'server')"),
            "none");
}

// However many sessions there are beside those that a statement is about: also where it was planned
// while they were few.
TEST_F(PgGroupCommit, NothingReadsSessionsThatItIsNotAbout) {
  constexpr int kOthers = 2000;
  database().Run("ANALYZE holdfast.session");
  WriteTogether("few");
  CopySession("s0", kOthers);
  WriteTogether("alone");
  std::vector<RenewRequest> renewals;
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    renewals.push_back({.key = many_[i]->key(), .token = tokens_[i]});
  }
  for (const auto& renewed : store().RenewLeases(renewals)) EXPECT_TRUE(renewed.ok());
  EXPECT_LT(CloseAndCountReads(), kOthers);
}

TEST_F(PgGroupCommit, AReplyThatCountsNoMoreMakesPlace) {
  std::vector<RequestId> requests;
  for (int i = 0; i < kSessionsOfAGroup; ++i) requests.push_back(NewRequest(random()));
  for (const std::string text : {"first", "again"}) {
    clock().Advance(kRequestsKept + absl::Seconds(1));
    std::vector<Change> changes;
    for (int i = 0; i < kSessionsOfAGroup; ++i) {
      changes.push_back(Writing(i, text));
      changes.back().request->id = requests[i];
    }
    CommitTogether(changes);
    for (const auto& result : results_) {
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(result->kind, CommitResult::Kind::kApplied);
    }
  }
  EXPECT_EQ(MessagesOf(0), 4U);
}

TEST_F(PgGroupCommit, AppliesEntriesOfEachMemberByItself) {
  // Each turn has a journal of its own, with slot updates of which the last counts.
  std::vector<Change> commits;
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    const TurnNumber turn = Apply(many_[i]->Begin(tokens_[i])).turn;
    const auto text = [&](const char* what) { return absl::StrCat(what, i); };
    Apply(many_[i]->Append(tokens_[i], turn,
                           {SlotUpdate(turn, 1, MakeSlot("plan", text("old"))),
                            SlotUpdate(turn, 2, MakeSlot("plan", text("plan"))),
                            SlotUpdate(turn, 3, MakeSlot("memory", text("not this")))}));
    Change commit = many_[i]->CommitTurn(tokens_[i], turn);
    commit.slots = {MakeSlot("memory", text("memory"))};
    commits.push_back(std::move(commit));
  }
  CommitTogether(commits);
  EXPECT_THAT(Reasons(), Each("OK"));
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    const auto slots = store().ReadSlots(many_[i]->key(), {.owners = {"memory", "plan"}});
    ASSERT_TRUE(slots.ok() && slots->slots.size() == 2);
    EXPECT_EQ(slots->slots[0].slot.data, absl::StrCat("memory", i));
    EXPECT_EQ(slots->slots[1].slot.data, absl::StrCat("plan", i));
  }
}

TEST_F(PgGroupCommit, CommitsOtherMembersWhenOneRowIsLocked) {
  const auto holder = holdfast::testing::Connect(database().dsn());
  ASSERT_EQ(holder->Script("BEGIN; SELECT 1 FROM holdfast.session WHERE session_id = 's0'"
                           " FOR UPDATE"),
            absl::OkStatus());
  BatchedCommits batched(store());
  absl::StatusOr<CommitResult> locked = absl::UnknownError("not yet");
  std::jthread waiter([&] { locked = batched.Commit(Writing(0, "locked")); });
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
    return database().AskText(
               "SELECT count(*)::text FROM pg_stat_activity WHERE datname ="
               " current_database() AND wait_event_type = 'Lock'") == "1";
  }));
  const char* const since =
      "SELECT query_start::text FROM pg_stat_activity WHERE datname = current_database()"
      " AND wait_event_type = 'Lock'";
  const std::string waits_since = database().AskText(since);
  // Also those that come behind it, alone and together.
  std::vector<std::jthread> others;
  for (int i = 1; i < kSessionsOfAGroup; ++i) {
    others.emplace_back([&, i] { results_[i] = batched.Commit(Writing(i, "free")); });
  }
  others.clear();
  for (int i = 1; i < kSessionsOfAGroup; ++i) EXPECT_EQ(ReasonOf(results_[i]), "OK");
  EXPECT_EQ(database().AskText(since), waits_since) << "the others waited until it gave up";
  EXPECT_EQ(holder->Script("COMMIT"), absl::OkStatus());
  waiter.join();
  EXPECT_EQ(ReasonOf(locked), "OK");
  EXPECT_EQ(MessagesOf(0), 2U);
}

TEST_F(PgGroupCommit, WritesOthersBesideMemberThatCannotBeWritten) {
  database().Run(
      "CREATE FUNCTION holdfast.test_poison() RETURNS trigger LANGUAGE plpgsql AS $$"
      " BEGIN RAISE EXCEPTION 'poison'; END $$;"
      "CREATE TRIGGER test_poison BEFORE INSERT ON holdfast.log FOR EACH ROW"
      " WHEN (NEW.msgs IS NOT NULL AND NEW.session_id = 's3') EXECUTE FUNCTION "
      "holdfast.test_poison()");
  WriteTogether("poisoned");
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    EXPECT_EQ(ReasonOf(results_[i]), i == 3 ? "STORE_UNAVAILABLE" : "OK") << i;
    EXPECT_EQ(MessagesOf(i), i == 3 ? 0U : 2U) << i;
  }
  EXPECT_EQ(RefusalOf(results_[3].status()).facts().at("outcome"), "known");
}

// The try that a member made with others counts.
TEST_F(PgGroupCommit, AMemberThatAlwaysLosesAgainstOthersIsTriedThreeTimes) {
  database().Run(
      "DO $$ BEGIN FOR i IN 0..7 LOOP EXECUTE 'CREATE SEQUENCE holdfast.test_s' || i; END LOOP;"
      " END $$;"
      "CREATE FUNCTION holdfast.test_lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " PERFORM nextval('holdfast.test_' || session_id)"
      " FROM (SELECT DISTINCT session_id FROM n WHERE msgs IS NOT NULL) s;"
      " IF FOUND THEN RAISE EXCEPTION 'lost' USING ERRCODE = '40P01'; END IF;"
      " RETURN NULL; END $$;"
      "CREATE TRIGGER test_lose AFTER INSERT ON holdfast.log REFERENCING NEW TABLE AS n"
      " FOR EACH STATEMENT EXECUTE FUNCTION holdfast.test_lose()");
  // A session whose change was written may join a group.
  const auto join = [&] {
    for (int i = 0; i < kSessionsOfAGroup; ++i) Apply(many_[i]->Update({{"title", "written"}}));
  };
  join();
  WriteTogether("lost");
  EXPECT_THAT(Reasons(), Each("STORE_UNAVAILABLE"));
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    EXPECT_EQ(RefusalOf(results_[i].status()).facts().at("outcome"), "known");
    EXPECT_EQ(database().AskText(absl::StrCat("SELECT last_value::text FROM holdfast.test_s", i)),
              "3");
  }
  database().Run("DROP FUNCTION holdfast.test_lose() CASCADE");
  join();
  WriteTogether("normal again");
  EXPECT_THAT(Reasons(), Each("OK"));
}

TEST_F(PgGroupCommit, ARepeatAmongOthersIsAnsweredWithItsReply) {
  std::vector<Change> changes;
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    changes.push_back(many_[i]->Update({{"title", "first"}}));
    ASSERT_EQ(ReasonOf(store().Commit(changes.back())), "OK");
    if (i % 2 == 1) changes.back() = many_[i]->Update({{"title", "new"}});
  }
  const std::string before = database().AskText("SELECT sum(version)::text FROM holdfast.session");
  CommitTogether(changes);
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    ASSERT_EQ(ReasonOf(results_[i]), "OK");
    EXPECT_EQ(results_[i]->kind,
              i % 2 == 1 ? CommitResult::Kind::kApplied : CommitResult::Kind::kRepeated);
  }
  EXPECT_EQ(database().AskText("SELECT (sum(version) - 4)::text FROM holdfast.session"), before);
  EXPECT_THAT(sent_, ElementsAre("change_many")) << "a repeat took a statement of its own";
}

// So a repeat costs the other changes in its statement nothing.
TEST_F(PgGroupCommit, LooksUpMemberOnceBesideRepeat) {
  constexpr int kRounds = 50;
  constexpr int kForTheRepeat = 3;
  const Change repeated = many_[0]->Update({{"title", "repeated"}});
  Apply(repeated);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Change> changes = {repeated};
    for (int i = 1; i < kSessionsOfAGroup; ++i)
      changes.push_back(many_[i]->Update({{"title", "new"}}));
    CommitTogether(changes);
    EXPECT_THAT(Reasons(), Each("OK"));
  }
  EXPECT_LT(CloseAndCountReads(), kRounds * (kSessionsOfAGroup + kForTheRepeat));
}

TEST_F(PgGroupCommit, ALeaseRenewedElsewhereIsNotTakenByAMember) {
  const auto other = AnotherServer();
  clock().Advance(absl::Seconds(61));
  ASSERT_TRUE(other->RenewLeases({{.key = many_[2]->key(), .token = tokens_[2]}}).at(0).ok());
  std::vector<Change> changes;
  for (int i = 0; i < kSessionsOfAGroup; ++i) changes.push_back(many_[i]->Resume());
  CommitTogether(changes);
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    EXPECT_EQ(ReasonOf(results_[i]), i == 2 ? "LEASE_HELD" : "OK") << i;
  }
  // The token of the grant before is gone.
  EXPECT_EQ(database().AskText("SELECT count(*)::text FROM holdfast.session WHERE token <> ''"),
            std::to_string(kSessionsOfAGroup));
  Close(other);
}

// A renewal moves the row and not its version: the group finds it where it is then.
TEST_F(PgGroupCommit, RenewsLeasesWhileGroupIsLocked) {
  database().Run(
      "CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS timestamptz LANGUAGE plpgsql VOLATILE"
      " AS $$ BEGIN IF current_query() LIKE '%holdfast.change(p_tenants%' THEN"
      " PERFORM pg_advisory_xact_lock_shared(1); END IF; RETURN clock_timestamp(); END $$");
  const auto gate = holdfast::testing::Connect(database().dsn());
  ASSERT_EQ(gate->Script("SELECT pg_advisory_lock(1)"), absl::OkStatus());
  std::jthread group([&] { WriteTogether("renewed"); });
  EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
    return database().AskText(
               "SELECT count(*)::text FROM pg_locks"
               " WHERE locktype = 'advisory' AND NOT granted") != "0";
  }));
  ASSERT_EQ(gate->Script("UPDATE holdfast.session SET expires_at = '2200-01-01'"),
            absl::OkStatus());
  ASSERT_EQ(gate->Script("SELECT pg_advisory_unlock(1)"), absl::OkStatus());
  group.join();
  EXPECT_THAT(Reasons(), Each("OK"));
  // Nothing had to be written a second time.
  EXPECT_EQ(database().AskText("SELECT count(DISTINCT xmin::text)::text FROM holdfast.session"),
            std::to_string(sent_.size()));
}

TEST_F(PgGroupCommit, ARefusalIsItsOwnMembersAlone) {
  const auto other = AnotherServer();
  // Another server has taken over what this one still thinks is held by its client.
  const auto taken = other->Commit(many_[5]->Resume(LeaseRule::kForce));
  ASSERT_EQ(ReasonOf(taken), "OK");
  std::vector<Change> changes;
  for (int i = 0; i < kSessionsOfAGroup; ++i) changes.push_back(Writing(i, "mixed"));
  CommitTogether(changes);
  for (int i = 0; i < kSessionsOfAGroup; ++i) {
    EXPECT_EQ(ReasonOf(results_[i]), i == 5 ? "FENCED" : "OK") << i;
  }
  EXPECT_EQ(MessagesOf(5), 0U);
  Close(other);
}

TEST_F(PgGroupCommit, AGroupWhoseAnswerWasLostActsOnce) {
  statements().LoseAnswerOf("change_many");
  WriteTogether("lost");
  EXPECT_THAT(Reasons(), Each("OK"));
  for (int i = 0; i < kSessionsOfAGroup; ++i) EXPECT_EQ(MessagesOf(i), 2U);
}

TEST_F(PgGroupCommit, ChangesOfOneSessionLeaveInTheirOrder) {
  constexpr int kWriters = 6;
  std::vector<std::jthread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(ReasonOf(store().Commit(many_[0]->Update({{"title", "x"}}))), "OK");
      }
    });
  }
  threads.clear();
  // Each was decided on the one before: none was decided twice.
  const std::vector<std::string> names = statements().Take();
  EXPECT_EQ(std::ranges::count(names, "change"), kWriters * 20);
}

}  // namespace
}  // namespace holdfast::test
