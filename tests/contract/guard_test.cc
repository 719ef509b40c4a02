// What a guard refuses under the session's lock, and what it lets through.
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

const char kNoStore[] = "00000000-0000-4000-8000-000000000000";

TEST_P(Contract, C080_AnotherStoreIsAMismatch) {
  Create();
  Change change = changes().Begin(token());
  change.guard.token->store = *StoreId::Parse(kNoStore);
  const auto token = store().Commit(change);
  EXPECT_EQ(ReasonIn(token), "RESUME_MISMATCH");
  EXPECT_EQ(FactIn(RefusalIn(token), "stored"), kNoStore);
  EXPECT_EQ(FactIn(RefusalIn(token), "active"), store().Describe().store.value());
  Change resume = changes().Resume(LeaseRule::kForce);
  resume.guard.expected_store = *StoreId::Parse(kNoStore);
  EXPECT_EQ(ReasonIn(store().Commit(resume)), "RESUME_MISMATCH");
  resume.guard.expected_store = store().Describe().store;
  Apply(resume);
}

TEST_P(Contract, C081_RefusesKnownRevisionAheadOfStored) {
  Create();
  RunTurn();
  Change known = changes().Resume(LeaseRule::kForce);
  known.guard.known_revision = Revision(4);
  const auto refused = store().Commit(known);
  EXPECT_EQ(ReasonIn(refused), "REVISION_AHEAD");
  EXPECT_EQ(FactIn(RefusalIn(refused), "known"), "4");
  EXPECT_EQ(FactIn(RefusalIn(refused), "stored"), "3");
  Change expected = changes().Begin(token());
  expected.guard.expected_revision = Revision(4);
  EXPECT_EQ(ReasonIn(store().Commit(expected)), "REVISION_AHEAD");
  Change epoch = changes().Begin(token());
  epoch.guard.token->epoch = Epoch(2);
  const auto ahead = store().Commit(epoch);
  EXPECT_EQ(ReasonIn(ahead), "REVISION_AHEAD");
  EXPECT_EQ(FactIn(RefusalIn(ahead), "what"), "epoch");
}

TEST_P(Contract, C082_AWriteNeedsTheLease) {
  Create();
  Change change = changes().Begin(token());
  change.guard.token.reset();
  EXPECT_EQ(ReasonIn(store().Commit(change)), "LEASE_REQUIRED");
  Apply(changes().Release(token()));
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(token()))), "LEASE_REQUIRED");
}

TEST_P(Contract, C032_TheTokensBeforeAGrantAreFencedForEver) {
  Create();
  const LeaseToken first = token();
  TakeOver();
  const LeaseToken second = token();
  TakeOver();
  for (const LeaseToken& old : {first, second}) {
    const auto refused = store().Commit(changes().Begin(old));
    EXPECT_EQ(ReasonIn(refused), "FENCED");
    EXPECT_EQ(FactIn(RefusalIn(refused), "your_epoch"), std::to_string(old.epoch.value()));
    EXPECT_EQ(FactIn(RefusalIn(refused), "current_epoch"), "3");
  }
  // Also when the lease has been released or has expired.
  Apply(changes().Release(token()));
  clock().Advance(absl::Hours(48));
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(first))), "FENCED");
}

TEST_P(Contract, C032_ATakeOverBetweenLoadAndCommitFencesTheCommit) {
  Create();
  const TurnNumber turn = Begin();
  const Head seen = LoadHead();
  Change change = changes().CommitTurn(token(), turn);
  change.messages = {Text("too late")};
  change.premise =
      Premise{.lifecycle = seen.lifecycle, .active_turn = turn, .epoch = seen.lease.epoch};
  TakeOver();
  const auto refused = store().Commit(change);
  EXPECT_EQ(ReasonIn(refused), "FENCED");
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->head.lease.epoch, Epoch(2));
  EXPECT_TRUE(Messages().empty());
}

TEST_P(Contract, C096_FencedTokensStayFencedAfterOpeningAgain) {
  Create();
  const LeaseToken old = token();
  TakeOver();
  Reopen();
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(old))), "FENCED");
  Begin();
}

TEST_P(Contract, C092_AnotherSecretIsFenced) {
  Create();
  LeaseToken guessed = token();
  guessed.secret = std::string(kSecretBytes, '\0');
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(guessed))), "FENCED");
  guessed.secret = token().secret;
  guessed.secret.back() = static_cast<char>(guessed.secret.back() ^ 1);
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(guessed))), "FENCED");
}

TEST_P(Contract, C093_ATokenOfAnotherCreationOrIncarnationIsFenced) {
  Create();
  LeaseToken uid = token();
  uid.uid = *SessionUid::Parse(kNoStore);
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(uid))), "FENCED");
  LeaseToken incarnation = token();
  incarnation.incarnation = token().incarnation.Next();
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(incarnation))), "FENCED");
}

TEST_P(Contract, C083_AnothersLiveLeaseIsHeld) {
  Create();
  clock().Advance(absl::Seconds(20));
  const auto refused = store().Commit(changes().Resume());
  EXPECT_EQ(ReasonIn(refused), "LEASE_HELD");
  EXPECT_EQ(FactIn(RefusalIn(refused), "holder"), "holder");
  EXPECT_EQ(FactIn(RefusalIn(refused), "expires_in_ms"), "40000");
  EXPECT_EQ(RefusalOf(RefusalIn(refused)).retry_after(), absl::Seconds(40));
}

TEST_P(Contract, C084_GrantsLeaseWhenPreviousOneExpired) {
  Create();
  LetLeaseExpire();
  EXPECT_EQ(Apply(changes().Resume()).epoch, Epoch(2));
}

TEST_P(Contract, C085_AForcedGrantTakesALiveLease) {
  Create();
  EXPECT_EQ(Apply(changes().Resume(LeaseRule::kForce)).epoch, Epoch(2));
}

TEST_P(Contract, C091_ExpiryRefusesItsHolderNothing) {
  Create();
  const TurnNumber turn = Begin();
  LetLeaseExpire();
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kExpired);
  CommitTurn(turn, {Text("late but mine")});
  EXPECT_EQ(LoadHead().lease.state, LeaseState::kLive);
}

TEST_P(Contract, C086_ASecondTurnIsConcurrent) {
  Create();
  Begin();
  const auto refused = store().Commit(changes().Begin(token()));
  EXPECT_EQ(ReasonIn(refused), "CONCURRENT_TURN");
  EXPECT_EQ(FactIn(RefusalIn(refused), "active_turn"), "1");
  EXPECT_EQ(ReasonIn(store().Commit(changes().Write(token()))), "CONCURRENT_TURN");
}

TEST_P(Contract, C087_AnIllegalTriggerSaysWhatIsLegal) {
  Create();
  const auto refused = store().Commit(changes().CommitTurn(token(), TurnNumber(1)));
  EXPECT_EQ(ReasonIn(refused), "ILLEGAL_TRANSITION");
  EXPECT_EQ(FactIn(RefusalIn(refused), "from"), "IDLE");
  EXPECT_EQ(FactIn(RefusalIn(refused), "trigger"), "CommitTurn");
  EXPECT_THAT(FactIn(RefusalIn(refused), "legal"), ::testing::HasSubstr("BeginTurn"));
}

TEST_P(Contract, C088_ATurnThatIsNotActiveIsStale) {
  Create();
  const TurnNumber turn = Begin();
  const auto refused = store().Commit(changes().CommitTurn(token(), turn.Next()));
  EXPECT_EQ(ReasonIn(refused), "STALE_TURN");
  EXPECT_EQ(FactIn(RefusalIn(refused), "active_turn"), "1");
  EXPECT_EQ(ReasonIn(store().Commit(changes().Abandon(token(), turn.Next()))), "STALE_TURN");
}

TEST_P(Contract, C107_ANewEntryOfAnInactiveTurnIsStale) {
  Create();
  const TurnNumber first = Begin();
  Append(first, {Note(first, 1, "a")});
  // An append that was sent ahead of its turn is refused while the turn before is active.
  const Change ahead = changes().Append(token(), first.Next(), {Note(first.Next(), 1, "b")});
  EXPECT_EQ(ReasonIn(store().Commit(ahead)), "STALE_TURN");
  Change commit = changes().CommitTurn(token(), first);
  commit.begin_turn = BeginTurn{.source = TurnSource::kUser};
  commit.to = Lifecycle::kActive;
  const TurnNumber second = Apply(commit).turn;
  EXPECT_EQ(second, first.Next());
  EXPECT_EQ(Apply(ahead).last_entry, EntryNumber(1));
  // So is one that comes when the next turn is active.
  EXPECT_EQ(ReasonIn(store().Commit(changes().Append(token(), first, {Note(first, 2, "c")}))),
            "STALE_TURN");
  // Entries between turns have to wait for the turn's end.
  EXPECT_EQ(ReasonIn(store().Commit(
                changes().Append(token(), TurnNumber(), {Note(TurnNumber(), 1, "d")}))),
            "STALE_TURN");
}

TEST_P(Contract, C090_ACommitThatMissesAnEntryIsRefused) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "a")});
  Change change = changes().CommitTurn(token(), turn);
  change.guard.last_entry = EntryNumber(3);
  const auto refused = store().Commit(change);
  EXPECT_EQ(ReasonIn(refused), "INVALID_FIELD");
  EXPECT_EQ(FactIn(RefusalIn(refused), "field"), "last_entry");
  EXPECT_EQ(FactIn(RefusalIn(refused), "expected"), "2");
  EXPECT_EQ(FactIn(RefusalIn(refused), "got"), "3");
  EXPECT_EQ(LoadHead().lifecycle, Lifecycle::kActive);
  Append(turn, {Note(turn, 2, "b"), Note(turn, 3, "c")});
  EXPECT_EQ(Apply(change).last_entry, EntryNumber(3));
}

TEST_P(Contract, C043_AGapIsRefusedWithTheNumberExpected) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "a")});
  const auto refused = store().Commit(changes().Append(token(), turn, {Note(turn, 3, "c")}));
  EXPECT_EQ(ReasonIn(refused), "INVALID_FIELD");
  EXPECT_EQ(FactIn(RefusalIn(refused), "field"), "entries[0].number");
  EXPECT_EQ(FactIn(RefusalIn(refused), "expected"), "2");
  EXPECT_EQ(FactIn(RefusalIn(refused), "got"), "3");
  EXPECT_EQ(Journal().size(), 1U);
}

TEST_P(Contract, C089_AnOldExpectedRevisionIsStale) {
  Create();
  RunTurn();
  Change change = changes().Begin(token());
  change.guard.expected_revision = Revision(2);
  const auto refused = store().Commit(change);
  EXPECT_EQ(ReasonIn(refused), "STALE_REVISION");
  EXPECT_EQ(FactIn(RefusalIn(refused), "expected"), "2");
  EXPECT_EQ(FactIn(RefusalIn(refused), "actual"), "3");
  EXPECT_EQ(FactIn(RefusalIn(refused), "writer"), "holder");
  change.guard.expected_revision = Revision(3);
  Apply(change);
}

TEST_P(Contract, C239_AttributeWithAnotherValueThanExpectedIsStale) {
  Create();
  Apply(changes().Update({{"title", "first"}, {"agent", "a"}}));
  Change change = changes().Update({{"title", "second"}});
  change.guard.attributes = {{"agent", "a"}, {"title", "other"}};
  const auto refused = store().Commit(change);
  EXPECT_EQ(ReasonIn(refused), "STALE_REVISION");
  EXPECT_EQ(FactIn(RefusalIn(refused), "what"), "attributes");
  EXPECT_EQ(FactIn(RefusalIn(refused), "attribute"), "title");
  EXPECT_EQ(FactIn(RefusalIn(refused), "actual"), std::to_string(LoadHead().revision.value()));
  EXPECT_EQ(LoadHead().attributes.at("title"), "first");
  change.guard.attributes = {{"agent", "a"}, {"title", "first"}};
  Apply(change);
  EXPECT_EQ(LoadHead().attributes.at("title"), "second");
}

TEST_P(Contract, C240_AttributeExpectedToBeEmptyMayBeAbsent) {
  Create();
  Change set = changes().Update({{"title", "set"}});
  set.guard.attributes = {{"title", ""}};
  Apply(set);
  Change again = changes().Update({{"title", "set again"}});
  again.guard.attributes = {{"title", ""}};
  EXPECT_EQ(ReasonIn(store().Commit(again)), "STALE_REVISION");
  Apply(changes().Update({{"title", ""}}));
  again = changes().Update({{"title", "set again"}});
  again.guard.attributes = {{"title", ""}};
  Apply(again);
  EXPECT_EQ(LoadHead().attributes.at("title"), "set again");
}

}  // namespace
}  // namespace holdfast::test
