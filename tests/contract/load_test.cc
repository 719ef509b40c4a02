// What a load shows.
#include "tests/contract/suite.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace holdfast::test {
namespace {

TEST_P(Contract, C010_ALoadShowsHeadAndReplyTogether) {
  const Change create = changes().Create();
  const Receipt created = Apply(create);
  TakeToken(created);
  Begin();
  const auto loaded = store().LoadForDecision(key(), create.request->id);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->head.revision, Revision(2));
  EXPECT_EQ(loaded->head.lifecycle, Lifecycle::kActive);
  ASSERT_TRUE(loaded->request.has_value());
  EXPECT_EQ(loaded->request->stamp.id, create.request->id);
  EXPECT_EQ(loaded->request->stamp.method, Method::kCreate);
  EXPECT_EQ(loaded->request->stamp.fingerprint, create.request->fingerprint);
  EXPECT_EQ(loaded->request->receipt.revision, Revision(1));
  EXPECT_EQ(loaded->request->receipt.token, created.token);
}

TEST_P(Contract, C195_AnAnswerOfAnOutcomeIsThereWhenOpenedAgain) {
  Create();
  const Change begin = changes().Begin(token());
  Apply(begin);
  const RequestId never = NewRequest(random());
  for (int opened = 0; opened < 2; ++opened) {
    const auto there = store().LoadForOutcome(key(), begin.request->id);
    ASSERT_EQ(ReasonIn(there), "OK");
    EXPECT_EQ(there->head.revision, Revision(2));
    ASSERT_TRUE(there->request.has_value());
    EXPECT_EQ(there->request->stamp.method, Method::kBeginTurn);
    EXPECT_EQ(there->request->receipt.turn, TurnNumber(1));
    const auto absent = store().LoadForOutcome(key(), never);
    ASSERT_EQ(ReasonIn(absent), "OK");
    EXPECT_EQ(absent->head.revision, Revision(2));
    EXPECT_FALSE(absent->request.has_value());
    Reopen();
  }
  EXPECT_EQ(ReasonIn(store().LoadForOutcome(Key("absent"), never)), "SESSION_NOT_FOUND");
}

TEST_P(Contract, C196_ReportsNoOutcomeWhileNothingCanBeMadeDurable) {
  Create();
  const Change begin = changes().Begin(token());
  under_test().BreakWrites();
  EXPECT_EQ(ReasonIn(store().Commit(begin)), "STORE_UNAVAILABLE");
  const auto outcome = store().LoadForOutcome(key(), begin.request->id);
  EXPECT_EQ(ReasonIn(outcome), "STORE_UNAVAILABLE");
  under_test().MendWrites();
  Reopen();
  const auto settled = store().LoadForOutcome(key(), begin.request->id);
  ASSERT_EQ(ReasonIn(settled), "OK");
  EXPECT_EQ(settled->request.has_value(), LoadRequest(begin.request->id).has_value());
}

TEST_P(Contract, C235_ARememberedHeadIsOneThatTheSessionHasHad) {
  EXPECT_EQ(store().CachedHead(key()), nullptr);
  std::vector<Head> had;
  const auto expect_had = [&] {
    const std::shared_ptr<const Head> cached = store().CachedHead(key());
    if (cached == nullptr) return;
    const auto is_same = [&](const Head& head) {
      return head.uid == cached->uid && head.revision == cached->revision &&
             head.lifecycle == cached->lifecycle && head.messages == cached->messages &&
             head.history == cached->history && head.lease.epoch == cached->lease.epoch;
    };
    EXPECT_TRUE(std::ranges::any_of(had, is_same)) << "revision " << cached->revision.value();
  };
  const auto note = [&] {
    had.push_back(LoadHead());
    expect_had();
  };
  Create();
  note();
  const TurnNumber turn = Begin();
  note();
  CommitTurn(turn, {Text("said")});
  note();
  TakeOver();
  note();
  Reopen();
  expect_had();
  note();
  LetLeaseExpire();
  Apply(changes().Delete());
  expect_had();
}

TEST_P(Contract, C017_ARequestThatDidNothingHasNoReply) {
  Create();
  EXPECT_FALSE(LoadRequest(NewRequest(random())).has_value());
}

TEST_P(Contract, C011_AnIdThatWasNeverCreatedIsNotFound) {
  EXPECT_EQ(ReasonIn(store().LoadForDecision(key(), std::nullopt)), "SESSION_NOT_FOUND");
  EXPECT_EQ(ReasonIn(store().LoadForDecision(key(), NewRequest(random()))), "SESSION_NOT_FOUND");
}

TEST_P(Contract, C012_ADeletedSessionIsTombstoned) {
  Create();
  LetLeaseExpire();
  const Change gone = changes().Delete();
  Apply(gone);
  EXPECT_EQ(ReasonIn(store().LoadForDecision(key(), std::nullopt)), "TOMBSTONED");
  EXPECT_EQ(ReasonIn(store().LoadForDecision(key(), gone.request->id)), "TOMBSTONED");
  Reopen();
  EXPECT_EQ(ReasonIn(store().LoadForDecision(key(), std::nullopt)), "TOMBSTONED");
}

TEST_P(Contract, C013_AForeignSessionIsAMismatchOfBothIds) {
  under_test().Close();
  const StoreId other = under_test().PlantForeign(key());
  under_test().Open();
  const auto loaded = store().LoadForDecision(key(), std::nullopt);
  EXPECT_EQ(ReasonIn(loaded), "RESUME_MISMATCH");
  EXPECT_EQ(FactIn(loaded.status(), "stored"), other.value());
  EXPECT_EQ(FactIn(loaded.status(), "active"), store().Describe().store.value());
}

TEST_P(Contract, C016_ADamagedSessionSaysSoAndTheOthersGoOn) {
  Create();
  const SessionKey beta = Key("beta");
  Apply(Changes(beta, random()).Create());
  under_test().Close();
  under_test().Damage(key());
  under_test().Open();
  EXPECT_THAT(ReasonIn(store().LoadForDecision(key(), std::nullopt)),
              ::testing::AnyOf("MANIFEST_DRIFT", "DAMAGED"));
  EXPECT_THAT(ReasonIn(store().Commit(changes().Update({{"title", "x"}}))),
              ::testing::AnyOf("MANIFEST_DRIFT", "DAMAGED"));
  EXPECT_EQ(LoadHead(beta).revision, Revision(1));
}

TEST_P(Contract, C014_ALeaseIsLiveForItsTtlAndThenExpired) {
  Create();
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(60));
  clock().Advance(absl::Seconds(59));
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(1));
  clock().Advance(absl::Seconds(1));
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kExpired);
  EXPECT_EQ(LoadHead().lease.expires_in, absl::ZeroDuration());
}

TEST_P(Contract, C076_TheClockForPeopleDecidesNothingAboutALease) {
  Create();
  clock().JumpWall(absl::Hours(48));
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
  clock().JumpWall(-absl::Hours(96));
  LetLeaseExpire();
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kExpired);
}

TEST_P(Contract, C015_GrantsAreShownForADay) {
  Create();
  clock().Advance(absl::Hours(1));
  TakeOver();
  ASSERT_EQ(LoadHead().grants.size(), 2U);
  EXPECT_EQ(LoadHead().grants[0].epoch, Epoch(1));
  EXPECT_EQ(LoadHead().grants[1].epoch, Epoch(2));
  clock().Advance(absl::Hours(23) + absl::Minutes(1));
  ASSERT_EQ(LoadHead().grants.size(), 1U);
  EXPECT_EQ(LoadHead().grants[0].epoch, Epoch(2));
}

TEST_P(Contract, C226_NoClockForPeopleEndsWhatIsShownOfGrants) {
  Create();
  clock().Advance(absl::Minutes(2));
  Apply(changes().Resume());
  clock().JumpWall(absl::Hours(24 * 400));
  EXPECT_EQ(LoadHead().grants.size(), 2U);
  clock().JumpWall(-absl::Hours(24 * 20'000));
  EXPECT_EQ(LoadHead().grants.size(), 2U);
}

}  // namespace
}  // namespace holdfast::test
