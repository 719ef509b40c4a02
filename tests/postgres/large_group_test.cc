// The largest group that the server forms, with one member in its middle that is not simply
// written: the others are answered by the group's one statement, as without it.
#include "session/change.h"
#include "session/limits.h"
#include "session/store.h"
#include "tests/postgres/store_fixture.h"
#include "tests/support/changes.h"
#include "tests/support/postgres.h"

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using GroupedKind = GroupedResult::Kind;

constexpr size_t kMembers = kGroupMost;
constexpr size_t kMiddle = kMembers / 2;

class PgLargeGroup : public PostgresStoreTest {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < kMembers; ++i) {
      sessions_.push_back(std::make_unique<Changes>(Key(absl::StrCat("s", i)), random()));
      tokens_.push_back(*LeaseToken::Parse(Apply(sessions_.back()->Create()).token));
    }
    for (size_t i = 0; i < kMembers; ++i) changes_of_.push_back(Writing(i));
  }

  Change Writing(size_t i) {
    Change change = sessions_[i]->Write(tokens_[i]);
    change.messages = {Text("of the group")};
    change.slots = {MakeSlot("memory", "of the group")};
    return change;
  }

  Changes& middle() { return *sessions_[kMiddle]; }
  const LeaseToken& middle_token() { return tokens_[kMiddle]; }
  Change& change_of_middle() { return changes_of_[kMiddle]; }

  // Commits all in one group.
  void Commit() {
    std::vector<GroupedChange> grouped;
    for (const Change& change : changes_of_) grouped.push_back({.change = &change, .span = {}});
    statements().Take();
    results_ = store().CommitMany(grouped);
    sent_ = statements().Take();
    ASSERT_EQ(results_.size(), kMembers);
  }

  // Expects that one statement has written all but the one in the middle.
  void ExpectOthersWritten() {
    EXPECT_THAT(sent_, ElementsAre("change_many"));
    for (size_t i = 0; i < kMembers; ++i) {
      if (i == kMiddle) continue;
      ASSERT_EQ(results_[i].kind, GroupedKind::kDone) << i;
      ASSERT_EQ(ReasonOf(results_[i].result), "OK") << i;
      EXPECT_EQ(results_[i].result->kind, CommitResult::Kind::kApplied) << i;
      EXPECT_EQ(MessagesOf(i), 1U) << i;
    }
  }

  std::string ReasonOfMiddleAlone() { return ReasonOf(store().Commit(change_of_middle())); }

  size_t MessagesOf(size_t i) {
    const auto page = store().ReadMessages(sessions_[i]->key(), std::nullopt, MessageSeq(),
                                           {.items = 10, .bytes = kPageBytes});
    EXPECT_TRUE(page.ok());
    return page.ok() ? page->messages.size() : 0;
  }

  std::vector<std::unique_ptr<Changes>> sessions_;
  std::vector<LeaseToken> tokens_;
  std::vector<Change> changes_of_;
  std::vector<GroupedResult> results_;
  std::vector<std::string> sent_;  // for the last group
};

TEST_F(PgLargeGroup, WithoutSuchAMemberIsOneStatement) {
  Commit();
  ExpectOthersWritten();
  EXPECT_EQ(results_[kMiddle].kind, GroupedKind::kDone);
  EXPECT_EQ(MessagesOf(kMiddle), 1U);
}

TEST_F(PgLargeGroup, SkipsAMemberWhoseRowIsLocked) {
  const auto holder = holdfast::testing::Connect(database().dsn());
  ASSERT_EQ(holder->Script(absl::StrCat("BEGIN; SELECT FROM holdfast.session WHERE session_id = 's",
                                        kMiddle, "' FOR UPDATE")),
            absl::OkStatus());
  Commit();
  ExpectOthersWritten();
  EXPECT_EQ(results_[kMiddle].kind, GroupedKind::kAlone);
  EXPECT_EQ(MessagesOf(kMiddle), 0U);
  ASSERT_EQ(holder->Script("COMMIT"), absl::OkStatus());
  EXPECT_EQ(ReasonOfMiddleAlone(), "OK");
}

TEST_F(PgLargeGroup, LeavesARefusedMemberAlone) {
  const auto other = AnotherServer();
  ASSERT_EQ(ReasonOf(other->Commit(middle().Resume(LeaseRule::kForce))), "OK");
  Commit();
  ExpectOthersWritten();
  EXPECT_EQ(results_[kMiddle].kind, GroupedKind::kAlone);
  EXPECT_EQ(ReasonOfMiddleAlone(), "FENCED");
  Close(other);
}

TEST_F(PgLargeGroup, LeavesAMemberAloneWhoseSessionHasMovedOn) {
  const auto other = AnotherServer();
  ASSERT_EQ(ReasonOf(other->Commit(middle().Update({{"title", "moved on"}}))), "OK");
  Commit();
  ExpectOthersWritten();
  EXPECT_EQ(results_[kMiddle].kind, GroupedKind::kAlone);
  EXPECT_EQ(MessagesOf(kMiddle), 0U);
  EXPECT_EQ(ReasonOfMiddleAlone(), "OK");
  Close(other);
}

TEST_F(PgLargeGroup, AnswersARepeat) {
  Apply(change_of_middle());
  Commit();
  ExpectOthersWritten();
  ASSERT_EQ(results_[kMiddle].kind, GroupedKind::kDone);
  ASSERT_EQ(ReasonOf(results_[kMiddle].result), "OK");
  EXPECT_EQ(results_[kMiddle].result->kind, CommitResult::Kind::kRepeated);
  EXPECT_EQ(MessagesOf(kMiddle), 1U);
}

TEST_F(PgLargeGroup, AsksNothingForAMemberThatMustBeCompared) {
  const TurnNumber turn = Apply(middle().Begin(middle_token())).turn;
  Apply(middle().Append(middle_token(), turn, {Note(turn, 1, "first")}));
  change_of_middle() = middle().Append(middle_token(), turn, {Note(turn, 1, "another")});
  Commit();
  ExpectOthersWritten();
  EXPECT_EQ(results_[kMiddle].kind, GroupedKind::kAlone);
  EXPECT_EQ(ReasonOfMiddleAlone(), "REQUEST_ID_REUSED");
}

// The group that it joins first is rolled back, and from then on it joins none.
TEST_F(PgLargeGroup, FailsOnceForMemberThatCannotBeWritten) {
  database().Run(
      absl::StrCat("CREATE FUNCTION holdfast.test_poison() RETURNS trigger LANGUAGE plpgsql AS $$"
                   " BEGIN RAISE EXCEPTION 'poison'; END $$;"
                   "CREATE TRIGGER test_poison BEFORE INSERT ON holdfast.log FOR EACH ROW"
                   " WHEN (NEW.msgs IS NOT NULL AND NEW.session_id = 's",
                   kMiddle, "') EXECUTE FUNCTION holdfast.test_poison()"));
  Commit();
  for (size_t i = 0; i < kMembers; ++i) {
    EXPECT_EQ(results_[i].kind, GroupedKind::kAlone) << i;
    EXPECT_EQ(MessagesOf(i), 0U) << i;
  }
  EXPECT_EQ(ReasonOfMiddleAlone(), "STORE_UNAVAILABLE");
  Commit();
  ExpectOthersWritten();
  EXPECT_EQ(results_[kMiddle].kind, GroupedKind::kAlone);
  EXPECT_EQ(ReasonOfMiddleAlone(), "STORE_UNAVAILABLE");
}

}  // namespace
}  // namespace holdfast::test
