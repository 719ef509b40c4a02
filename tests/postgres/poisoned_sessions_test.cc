// Thirty-two sessions under steady traffic. The changes of one always fail, and another client has
// locked the row of a second one: the others are not affected.
#include "tests/postgres/store_fixture.h"
#include "tests/support/batched_commits.h"
#include "tests/support/grouped_commit.h"
#include "tests/support/wait.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

constexpr int kCommittingSessions = 32;
constexpr int kPoisonedSession = 7;
constexpr int kLocked = 23;
constexpr int kCommitsAtLeast = 20;

class PgPoisonedSessions : public PostgresStoreTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < kCommittingSessions; ++i) {
      many_.push_back(std::make_unique<Changes>(Key(absl::StrCat("s", i)), random()));
      tokens_.push_back(*LeaseToken::Parse(Apply(many_.back()->Create()).token));
      changes_of_.push_back(Writing(i));
    }
    database().Run(absl::StrCat(
        "CREATE SEQUENCE holdfast.test_poisoned;"
        "CREATE FUNCTION holdfast.test_poison() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN PERFORM nextval('holdfast.test_poisoned'); RAISE EXCEPTION 'poison'; END $$;"
        "CREATE TRIGGER test_poison BEFORE INSERT ON holdfast.log FOR EACH ROW"
        " WHEN (NEW.msgs IS NOT NULL AND NEW.session_id = 's",
        kPoisonedSession, "') EXECUTE FUNCTION holdfast.test_poison()"));
    holder_ = holdfast::testing::Connect(database().dsn());
    ASSERT_EQ(
        holder_->Script(absl::StrCat("BEGIN; SELECT 1 FROM holdfast.session WHERE session_id = 's",
                                     kLocked, "' FOR UPDATE")),
        absl::OkStatus());
  }

  Change Writing(int i) {
    Change change = many_[i]->Write(tokens_[i]);
    change.messages = {Text(absl::StrCat("message of ", i))};
    return change;
  }

  // Commits to each of the others, all at once, until each has done so often enough and some have
  // been written together.
  void WriteBeside(BatchedCommits& batched) {
    std::atomic<bool> enough = false;
    std::vector<std::atomic<int>> done(kCommittingSessions);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kCommittingSessions; ++i) {
      if (i == kPoisonedSession || i == kLocked) continue;
      threads.emplace_back([&, i] {
        while (!enough) {
          EXPECT_EQ(ReasonOf(batched.Commit(Writing(i))), "OK") << i;
          ++done[i];
        }
      });
    }
    threads.emplace_back([&] {
      while (!enough) {
        const auto refused = batched.Commit(changes_of_[kPoisonedSession]);
        EXPECT_EQ(ReasonOf(refused), "STORE_UNAVAILABLE");
        EXPECT_EQ(RefusalOf(refused.status()).facts().at("outcome"), "known");
        ++done[kPoisonedSession];
      }
    });
    EXPECT_TRUE(holdfast::testing::WaitUntil([&] {
      for (int i = 0; i < kCommittingSessions; ++i) {
        if (i != kLocked && done[i] < kCommitsAtLeast) return false;
      }
      return Grouped() > 0;
    }));
    enough = true;
    threads.clear();
    refused_ = done[kPoisonedSession];
  }

  int Number(const std::string& sql) {
    int number = -1;
    EXPECT_TRUE(absl::SimpleAtoi(database().AskText(sql), &number));
    return number;
  }
  // Transactions that wrote messages of several sessions.
  int Grouped() {
    return Number(
        "SELECT count(*)::text FROM (SELECT 1 FROM holdfast.log WHERE msgs IS NOT NULL GROUP BY "
        "xmin"
        " HAVING count(*) > 1) g");
  }
  size_t MessagesOf(int i) {
    constexpr PageLimit kWhole{.items = 1000, .bytes = 1 << 20};
    const auto page = store().ReadMessages(many_[i]->key(), std::nullopt, MessageSeq(), kWhole);
    EXPECT_TRUE(page.ok());
    return page.ok() ? page->messages.size() : 0;
  }

  std::vector<std::unique_ptr<Changes>> many_;
  std::vector<LeaseToken> tokens_;
  std::vector<Change> changes_of_;
  std::unique_ptr<pg::Connection> holder_;
  int refused_ = 0;
};

TEST_F(PgPoisonedSessions, WritesOthersWhenOneIsPoisonedAndOneLocked) {
  BatchedCommits batched(store());
  absl::StatusOr<CommitResult> locked = absl::UnknownError("not yet");
  std::jthread waiter([&] {
    do {
      locked = batched.Commit(changes_of_[kLocked]);
    } while (!locked.ok());
  });
  WriteBeside(batched);
  EXPECT_EQ(MessagesOf(kLocked), 0U);
  // With its first try it failed one group at most; from then on it was written by itself.
  const int tries = Number("SELECT last_value::text FROM holdfast.test_poisoned");
  EXPECT_LE(tries, refused_ + 1);
  std::cout << Grouped() << " groups; " << refused_ << " refused in " << tries << " tries\n";

  EXPECT_EQ(holder_->Script("COMMIT"), absl::OkStatus());
  waiter.join();
  EXPECT_EQ(ReasonOf(locked), "OK");
  database().Run("DROP FUNCTION holdfast.test_poison() CASCADE");
  EXPECT_EQ(ReasonOf(store().Commit(changes_of_[kPoisonedSession])), "OK");
  EXPECT_EQ(MessagesOf(kPoisonedSession), 1U);
  EXPECT_EQ(MessagesOf(kLocked), 1U);
}

// --- A fresh one in every batch ------------------------------------------------------------------

// Thirty-one good sessions. Each round adds a new one whose changes always fail: the store has not
// seen it fail yet, so that its change is in the same batch.
class PgFreshPoisonedSessions : public PostgresStoreTest {
 protected:
  static constexpr int kGood = 31;
  static constexpr int kRounds = 12;

  void SetUp() override {
    for (int i = 0; i < kGood; ++i) Make(absl::StrCat("good", i));
    for (int i = 0; i < kRounds; ++i) Make(absl::StrCat("poisoned", i));
    database().Run(
        "CREATE SEQUENCE holdfast.test_together;"
        "CREATE FUNCTION holdfast.test_poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF current_query() LIKE '%holdfast.change(p_tenants%' THEN"
        "  PERFORM nextval('holdfast.test_together'); END IF;"
        " RAISE EXCEPTION 'poison'; END $$;"
        "CREATE TRIGGER test_poison BEFORE INSERT ON holdfast.log FOR EACH ROW"
        " WHEN (NEW.msgs IS NOT NULL AND NEW.session_id LIKE 'poisoned%') EXECUTE FUNCTION "
        "holdfast.test_poison()");
  }

  // Commits a message to each good session and to a poisoned one, in one group.
  void CommitTogether(int round) {
    std::vector<Change> changes;
    for (int i = 0; i < kGood; ++i) {
      if (i == kGood / 2) changes.push_back(Writing(absl::StrCat("poisoned", round)));
      changes.push_back(Writing(absl::StrCat("good", i)));
    }
    const auto results = test::CommitTogether(store(), changes);
    for (size_t i = 0; i < changes.size(); ++i) {
      const bool poisoned = i == kGood / 2;
      EXPECT_EQ(ReasonOf(results[i]), poisoned ? "STORE_UNAVAILABLE" : "OK");
      if (poisoned && !results[i].ok()) {
        EXPECT_EQ(RefusalOf(results[i].status()).facts().at("outcome"), "known");
      }
    }
  }

  size_t MessagesOf(const std::string& session) {
    constexpr PageLimit kWhole{.items = 1000, .bytes = 1 << 20};
    const auto page = store().ReadMessages(Key(session), std::nullopt, MessageSeq(), kWhole);
    EXPECT_TRUE(page.ok());
    return page.ok() ? page->messages.size() : 0;
  }

 private:
  struct Member {
    std::unique_ptr<Changes> changes;
    LeaseToken token;
  };
  void Make(const std::string& session) {
    auto changes = std::make_unique<Changes>(Key(session), random());
    const LeaseToken token = *LeaseToken::Parse(Apply(changes->Create()).token);
    members_[session] = {.changes = std::move(changes), .token = token};
  }
  Change Writing(const std::string& session) {
    const Member& member = members_.at(session);
    Change change = member.changes->Write(member.token);
    change.messages = {Text("a message")};
    return change;
  }

  std::map<std::string, Member> members_;
};

TEST_F(PgFreshPoisonedSessions, OneInEveryBatchCostsNoGoodOne) {
  for (int round = 0; round < kRounds; ++round) {
    statements().Take();
    CommitTogether(round);
    const std::vector<std::string> sent = statements().Take();
    // The batch of 32, and then each of its members by itself.
    EXPECT_EQ(std::ranges::count(sent, "change_many"), 1) << round;
    EXPECT_EQ(std::ranges::count(sent, "change"), kGood + 1) << round;
  }
  EXPECT_EQ(database().AskText("SELECT last_value::text FROM holdfast.test_together"),
            absl::StrCat(kRounds))
      << "batches that had a poisoned one in them";
  for (int i = 0; i < kGood; ++i) EXPECT_EQ(MessagesOf(absl::StrCat("good", i)), kRounds) << i;
  for (int i = 0; i < kRounds; ++i) EXPECT_EQ(MessagesOf(absl::StrCat("poisoned", i)), 0) << i;
}

}  // namespace
}  // namespace holdfast::test
