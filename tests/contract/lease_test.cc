// Grants, renewals and what ends a lease.
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

using Kind = CommitResult::Kind;

TEST_P(Contract, C031_AGrantRaisesTheEpochAndItsTokenIsAccepted) {
  const Receipt created = Create();
  EXPECT_EQ(created.epoch, Epoch(1));
  EXPECT_EQ(token().epoch, Epoch(1));
  EXPECT_EQ(token().store, store().Describe().store);
  EXPECT_EQ(token().uid, LoadHead().uid);
  Begin();
  const Receipt taken = TakeOver();
  EXPECT_EQ(taken.epoch, Epoch(2));
  EXPECT_EQ(token().epoch, Epoch(2));
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(60));
  Begin();
}

TEST_P(Contract, C095_AGrantNamesTheHolderBefore) {
  EXPECT_EQ(Create().previous_holder, "");
  Change change = changes().Resume(LeaseRule::kForce);
  change.grant->holder = "second";
  EXPECT_EQ(Apply(change).previous_holder, "holder");
  EXPECT_EQ(LoadHead().lease.holder, "second");
  EXPECT_EQ(TakeOver().previous_holder, "second");
}

TEST_P(Contract, C049_ATokenIsWipedFromItsReplyWhenItsEpochHasPassed) {
  const Change create = changes().Create();
  EXPECT_FALSE(Apply(create).token.empty());
  const Change resume = changes().Resume(LeaseRule::kForce);
  Apply(resume);
  const auto again = store().Commit(create);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_EQ(again->kind, Kind::kRepeated);
  EXPECT_EQ(again->receipt.revision, Revision(1));
  EXPECT_EQ(again->receipt.token, "");
  Reopen();
  const auto row = LoadRequest(create.request->id);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->receipt.token, "");
}

TEST_P(Contract, C119_UntilThenARepeatIsAnsweredWithTheToken) {
  const Change create = changes().Create();
  const Receipt first = Apply(create);
  TakeToken(first);
  RunTurn();
  const auto again = store().Commit(create);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_EQ(again->receipt.token, first.token);
  Reopen();
  const auto row = LoadRequest(create.request->id);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->receipt.token, first.token);
}

TEST_P(Contract, C143_AChangeThatRenewsGivesTheWholeTtlAgain) {
  Create();
  clock().Advance(absl::Seconds(50));
  const TurnNumber turn = Begin();
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(60));
  clock().Advance(absl::Seconds(50));
  Append(turn, {Note(turn, 1, "a")});
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(60));
  // What is not the holder's does not renew.
  clock().Advance(absl::Seconds(50));
  Apply(changes().Update({{"title", "x"}}));
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(10));
}

TEST_P(Contract, C033_AReleaseKeepsTheEpoch) {
  Create();
  const Receipt receipt = Apply(changes().Release(token()));
  EXPECT_EQ(receipt.epoch, Epoch(1));
  EXPECT_EQ(LoadHead().lease.epoch, Epoch(1));
  EXPECT_EQ(Apply(changes().Resume()).epoch, Epoch(2));
}

TEST_P(Contract, C097_AReleaseEndsTheLease) {
  Create();
  Apply(changes().Release(token()));
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kFree);
  EXPECT_EQ(LoadHead().lease.expires_in, absl::ZeroDuration());
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(token()))), "LEASE_REQUIRED");
  const auto renewed = store().RenewLeases({{.key = key(), .token = token()}});
  ASSERT_EQ(renewed.size(), 1U);
  EXPECT_EQ(ReasonIn(renewed[0]), "LEASE_REQUIRED");
}

TEST_P(Contract, C114_ACloseEndsTheLease) {
  Create();
  Apply(changes().Close(token()));
  EXPECT_EQ(LoadHead().lifecycle, Lifecycle::kClosed);
  EXPECT_EQ(LoadHead().close_reason, CloseReason::kExplicit);
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kFree);
  EXPECT_EQ(ReasonIn(store().Commit(changes().Write(token()))), "LEASE_REQUIRED");
  // A closed session can be taken up again.
  Apply(changes().Resume());
  EXPECT_EQ(LoadHead().lifecycle, Lifecycle::kResumed);
  EXPECT_EQ(LoadHead().close_reason, CloseReason::kNone);
}

TEST_P(Contract, C113_RaisingTheEpochFencesAndGrantsNothing) {
  Create();
  const TurnNumber turn = Begin();
  LetLeaseExpire();
  const Receipt receipt = Apply(changes().Recover(Epoch(1), turn));
  EXPECT_EQ(receipt.token, "");
  const Head head = LoadHead();
  EXPECT_EQ(head.lease.epoch, Epoch(2));
  EXPECT_EQ(head.lease.state, LeaseState::kFree);
  EXPECT_EQ(head.lifecycle, Lifecycle::kClosed);
  EXPECT_EQ(head.close_reason, CloseReason::kCrash);
  EXPECT_EQ(ReasonIn(store().Commit(changes().CommitTurn(token(), turn))), "FENCED");
}

TEST_P(Contract, C065_RenewalAnswersEachLeaseForItself) {
  Create();
  Changes beta(Key("beta"), random());
  const LeaseToken second = TokenIn(Apply(beta.Create()));
  const LeaseToken old = token();
  TakeOver();
  clock().Advance(absl::Seconds(30));
  const auto answers = store().RenewLeases({{.key = key(), .token = old},
                                            {.key = beta.key(), .token = second},
                                            {.key = Key("gamma"), .token = second},
                                            {.key = key(), .token = token()}});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(ReasonIn(answers[0]), "FENCED");
  EXPECT_EQ(ReasonIn(answers[1]), "OK");
  EXPECT_EQ(ReasonIn(answers[2]), "SESSION_NOT_FOUND");
  ASSERT_EQ(ReasonIn(answers[3]), "OK");
  EXPECT_EQ(answers[3]->expires_in, absl::Seconds(60));
  EXPECT_EQ(answers[3]->revision, Revision(2));
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(60));
  EXPECT_EQ(LoadHead(beta.key()).lease.expires_in, absl::Seconds(60));
}

TEST_P(Contract, C140_ARenewalMayNameItsTtl) {
  Create();
  const auto longer =
      store().RenewLeases({{.key = key(), .token = token(), .ttl = absl::Seconds(600)}});
  ASSERT_EQ(ReasonIn(longer.at(0)), "OK");
  EXPECT_EQ(longer[0]->expires_in, absl::Seconds(600));
  clock().Advance(absl::Seconds(599));
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
  const auto own = store().RenewLeases({{.key = key(), .token = token()}});
  ASSERT_EQ(ReasonIn(own.at(0)), "OK");
  EXPECT_EQ(own[0]->expires_in, absl::Seconds(60));
}

TEST_P(Contract, C066_AnExpiredLeaseOfTheCurrentEpochComesBack) {
  Create();
  LetLeaseExpire();
  const auto answers = store().RenewLeases({{.key = key(), .token = token()}});
  ASSERT_EQ(ReasonIn(answers.at(0)), "OK");
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
  EXPECT_EQ(ReasonIn(store().Commit(changes().Resume())), "LEASE_HELD");
}

TEST_P(Contract, C141_ARenewalMovesNothing) {
  Create();
  const Head seen = LoadHead();
  const std::string before = Picture();
  clock().Advance(absl::Seconds(30));
  ASSERT_EQ(ReasonIn(store().RenewLeases({{.key = key(), .token = token()}}).at(0)), "OK");
  EXPECT_EQ(Picture(), before);
  // A change that was decided on the head before the renewal is applied.
  Change change = changes().Begin(token());
  change.guard.expected_revision = seen.revision;
  change.premise = Premise{.lifecycle = seen.lifecycle, .epoch = seen.lease.epoch};
  Apply(change);
}

TEST_P(Contract, C067_OpenedAgainEveryHeldLeaseHasItsWholeTtl) {
  Create();
  clock().Advance(absl::Seconds(50));
  Reopen();
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(60));
  EXPECT_EQ(ReasonIn(store().Commit(changes().Resume())), "LEASE_HELD");
  // Also one that had expired before.
  LetLeaseExpire();
  Reopen();
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
  // Counted from the opening, not from the first touch.
  Reopen();
  clock().Advance(absl::Seconds(59));
  EXPECT_EQ(LoadHead().lease.expires_in, absl::Seconds(1));
  clock().Advance(absl::Seconds(1));
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kExpired);
}

TEST_P(Contract, C142_OpenedAgainALeaseThatWasGivenBackStaysFree) {
  Create();
  Apply(changes().Release(token()));
  Reopen();
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kFree);
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(token()))), "LEASE_REQUIRED");
  Apply(changes().Resume());
}

}  // namespace
}  // namespace holdfast::test
