// A group of changes that is cut off inside its one COMMIT: each member acts once, and each caller
// gets the outcome of its own change.
#include "tests/postgres/held_commit.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <string>
#include <tuple>
#include <vector>

namespace holdfast::testing {
namespace {

constexpr size_t kCutMembers = 8;

class GroupCutDuringCommit : public HeldCommitTest,
                             public ::testing::WithParamInterface<std::tuple<Fate, Way>> {
 protected:
  struct Member {
    std::string session;
    std::string token;
    std::vector<std::string> texts;  // those that are there, or will be
    pb::CommitTurnRequest commit;
    std::future<Committed> answer;
  };

  void SetUp() override {
    HeldCommitTest::SetUp();
    for (size_t i = 0; i < kCutMembers; ++i) {
      Member& member = members_.at(i);
      member.session = absl::StrCat("member-", i);
      member.token = served().Create(member.session);
    }
  }

  // Commits by all members until several share one statement, which is inside COMMIT then. The
  // first commit is alone while the others queue behind it.
  void GatherInCommit() {
    constexpr int kMost = 100;
    Hold(Holding::kGroup);
    for (int round = 0; round < kMost; ++round) {
      for (Member& member : members_) {
        member.texts.push_back(absl::StrCat("round ", round));
        member.commit = served().Prepare(member.session, member.token, member.texts.back());
      }
      Hold(Holding::kOne);
      for (Member& member : members_) {
        member.answer = served().CommitBeside(member.commit);
        if (&member == &members_.front()) AwaitCommit(Holding::kOne);
      }
      Release(Holding::kOne);
      ASSERT_TRUE(WaitUntil([&] { return Waiting(Holding::kGroup) > 0 || AllAnswered(); }));
      if (Waiting(Holding::kGroup) > 0) return AwaitCommit(Holding::kGroup);
      for (Member& member : members_) EXPECT_EQ(member.answer.get().verdict.reason, "OK");
    }
    FAIL() << "no two have ever met";
  }
  // Whether the message of the member's last commit is there.
  int64_t There(const Member& member) {
    return Number(absl::StrCat("SELECT count(*) FROM holdfast.session WHERE session_id = '",
                               member.session, "' AND messages = ", member.texts.size()));
  }
  int64_t WrittenBy(const std::string& transaction) {
    return Number(
        "SELECT count(DISTINCT session_id) FROM holdfast.log WHERE msgs IS NOT NULL"
        " AND xmin::text = '" +
        transaction + "'");
  }
  // The store has what it acknowledged, and only members of the group have an unknown outcome.
  void ExpectReportedFates(Fate fate, const std::vector<Committed>& answers) {
    int64_t unknown = 0;
    for (size_t i = 0; i < kCutMembers; ++i) {
      const Verdict& verdict = answers[i].verdict;
      const bool acknowledged = verdict.reason == "OK";
      EXPECT_EQ(verdict.reason, acknowledged ? "OK" : "STORE_UNAVAILABLE");
      const bool in_doubt = OutcomeOf(verdict) == "unknown";
      if (in_doubt) ++unknown;
      const bool there = acknowledged || (in_doubt && fate == Fate::kTakesPlace);
      EXPECT_EQ(There(members_.at(i)), there ? 1 : 0) << i << ": " << verdict.message;
    }
    EXPECT_GT(unknown, 1);
  }

  std::array<Member, kCutMembers> members_;

 private:
  bool AllAnswered() {
    return std::ranges::all_of(members_, [](const Member& member) {
      return member.answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
  }
};

TEST_P(GroupCutDuringCommit, EveryMemberActsOnce) {
  const auto [fate, way] = GetParam();
  GatherInCommit();
  ASSERT_FALSE(HasFatalFailure());
  if (way == Way::kShut) {
    gate().Refuse();
    std::vector<Committed> answers;
    for (Member& member : members_) answers.push_back(member.answer.get());
    Decide(fate, Holding::kGroup);
    ExpectReportedFates(fate, answers);
    gate().Open();
    for (Member& member : members_) served().CommitAtLast(member.commit);
  } else {
    gate().Cut();
    // Those of the group come again, and wait for the rows that it still holds.
    ASSERT_TRUE(WaitUntil([&] {
      return Number(
                 "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                 " AND wait_event <> 'advisory'") > 0;
    }));
    Decide(fate, Holding::kGroup);
    for (Member& member : members_) EXPECT_EQ(member.answer.get().verdict.reason, "OK");
  }
  const int64_t written = WrittenBy(transaction());
  if (fate == Fate::kTakesPlace) {
    EXPECT_GT(written, 1);
  } else {
    EXPECT_EQ(written, 0);
  }
  for (Member& member : members_) {
    EXPECT_EQ(served().Texts(member.session), member.texts);
    // It is a repeat by now.
    EXPECT_EQ(served().Commit(member.commit).verdict.reason, "OK");
    member.texts.emplace_back("next");
    served().TakeTurn(member.session, member.token, "next");
    EXPECT_EQ(served().Texts(member.session), member.texts);
  }
  ExpectNormal({});
}

INSTANTIATE_TEST_SUITE_P(
    Pg, GroupCutDuringCommit,
    ::testing::Combine(::testing::Values(Fate::kTakesPlace, Fate::kIsRolledBack),
                       ::testing::Values(Way::kOpen, Way::kShut)),
    [](const auto& made) { return NameOf(std::get<0>(made.param), std::get<1>(made.param)); });

}  // namespace
}  // namespace holdfast::testing
