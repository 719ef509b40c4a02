// Several changes in one call.
#include "session/refusal.h"
#include "tests/contract/suite.h"

#include "absl/strings/str_cat.h"

#include <memory>
#include <vector>

namespace holdfast::test {
namespace {

using GroupedKind = GroupedResult::Kind;

constexpr size_t kSessions = 5;
constexpr size_t kSecond = 1;

// Sessions that are held, each with a change that may be committed with the others'.
class Group {
 public:
  explicit Group(StoreUnderTest& under_test) : under_test_(under_test) {
    for (size_t i = 0; i < kSessions; ++i) {
      changes_.push_back(
          std::make_unique<Changes>(Key(absl::StrCat("member-", i)), under_test.random()));
      const auto created = under_test.store().Commit(changes_.back()->Create());
      sent_.push_back(
          changes_.back()->Write(created.ok() ? TokenIn(created->receipt) : LeaseToken()));
      sent_.back().messages = {Text(absl::StrCat("of ", i))};
    }
  }

  std::vector<GroupedResult> Commit() {
    std::vector<GroupedChange> grouped;
    for (const Change& change : sent_) grouped.push_back({.change = &change, .span = {}});
    return under_test_.store().CommitMany(grouped);
  }
  // The text of each message of the i-th session.
  std::string TextsOf(size_t i) {
    const auto page =
        under_test_.store().ReadMessages(Of(i).key(), std::nullopt, MessageSeq(), kWholePage);
    std::string texts;
    if (!page.ok()) return "unreadable";
    for (const Message& message : page->messages) texts += message.data.str() + ";";
    return texts;
  }
  uint64_t RevisionOf(size_t i) {
    const auto loaded = under_test_.store().LoadForDecision(Of(i).key(), std::nullopt);
    return loaded.ok() ? loaded->head.revision.value() : 0;
  }

  Changes& Of(size_t i) { return *changes_[i]; }
  Change& operator[](size_t i) { return sent_[i]; }

 private:
  StoreUnderTest& under_test_;  // whose store is another one once it was opened again
  std::vector<std::unique_ptr<Changes>> changes_;
  std::vector<Change> sent_;
};

TEST_P(Contract, C231_WhatIsAppliedTogetherIsAnsweredAsByItself) {
  Group group(under_test());
  const auto results = group.Commit();
  ASSERT_EQ(results.size(), kSessions);
  for (size_t i = 0; i < kSessions; ++i) {
    if (results[i].kind != GroupedKind::kDone) continue;
    ASSERT_EQ(ReasonIn(results[i].result), "OK");
    const CommitResult& result = *results[i].result;
    EXPECT_EQ(result.kind, CommitResult::Kind::kApplied);
    const Head head = LoadHead(group.Of(i).key());
    EXPECT_EQ(result.head.uid, head.uid);
    EXPECT_EQ(result.head.history, head.history);
    EXPECT_EQ(result.receipt.revision, head.revision);
    EXPECT_EQ(result.receipt.revision, Revision(2));
    EXPECT_EQ(group.TextsOf(i), absl::StrCat("of ", i, ";"));
    // And the answer is kept for a repeat.
    const auto again = store().Commit(group[i]);
    ASSERT_EQ(ReasonIn(again), "OK");
    EXPECT_EQ(again->kind, CommitResult::Kind::kRepeated);
    EXPECT_EQ(again->receipt.revision, result.receipt.revision);
  }
}

TEST_P(Contract, C232_WhatMustBeCommittedAloneHasLeftNoTrace) {
  Group group(under_test());
  Apply(group.Of(0).Resume(LeaseRule::kForce));  // fences the change
  group[1].guard.expected_revision = Revision(7);
  const auto stored = store().Commit(group[2]);
  ASSERT_EQ(ReasonIn(stored), "OK");
  const auto results = group.Commit();
  ASSERT_EQ(results.size(), kSessions);
  EXPECT_EQ(results[0].kind, GroupedKind::kAlone);
  EXPECT_EQ(results[1].kind, GroupedKind::kAlone);
  if (results[2].kind != GroupedKind::kAlone) {
    ASSERT_EQ(ReasonIn(results[2].result), "OK");
    EXPECT_EQ(results[2].result->kind, CommitResult::Kind::kRepeated) << "its request is stored";
    EXPECT_EQ(results[2].result->receipt.revision, stored->receipt.revision);
  }
  EXPECT_EQ(group.TextsOf(2), "of 2;");
  for (size_t i = 0; i < kSessions; ++i) {
    if (results[i].kind != GroupedKind::kAlone || i == 2) continue;
    EXPECT_EQ(group.RevisionOf(i), i == 0 ? 2U : 1U) << i;
    EXPECT_EQ(group.TextsOf(i), "") << i;
  }
  EXPECT_EQ(ReasonIn(store().Commit(group[0])), "FENCED");
  EXPECT_NE(ReasonIn(store().Commit(group[1])), "OK");
  EXPECT_EQ(store().Commit(group[2])->kind, CommitResult::Kind::kRepeated);
}

TEST_P(Contract, C233_WhatIsInDoubtIsSettledByCommit) {
  Group group(under_test());
  under_test().BreakWrites();
  const auto results = group.Commit();
  ASSERT_EQ(results.size(), kSessions);
  for (const GroupedResult& result : results) {
    const bool failed = result.kind == GroupedKind::kDone && !result.result.ok();
    EXPECT_TRUE(failed || result.kind != GroupedKind::kDone);
  }
  under_test().MendWrites();
  Reopen();
  for (size_t i = 0; i < kSessions; ++i) {
    EXPECT_EQ(ReasonIn(store().Commit(group[i])), "OK");
    EXPECT_EQ(group.TextsOf(i), absl::StrCat("of ", i, ";"));
  }
}

TEST_P(Contract, C234_AppliesOthersBesideChangeThatIsNotApplied) {
  Group group(under_test());
  group[kSecond].guard.expected_revision = Revision(7);
  const auto results = group.Commit();
  ASSERT_EQ(results.size(), kSessions);
  for (size_t i = 0; i < kSessions; ++i) {
    if (i == kSecond) continue;
    if (results[i].kind == GroupedKind::kDone) {
      EXPECT_EQ(ReasonIn(results[i].result), "OK");
    } else {
      EXPECT_EQ(ReasonIn(store().Commit(group[i])), "OK");
    }
    EXPECT_EQ(group.TextsOf(i), absl::StrCat("of ", i, ";"));
  }
}

}  // namespace
}  // namespace holdfast::test
