// Requests: what is answered before a guard is asked, and many at once.
#include "tests/contract/suite.h"

#include <barrier>
#include <thread>

namespace holdfast::test {
namespace {

using Kind = CommitResult::Kind;

constexpr int kTwins = 8;

// Commits `changes` from as many threads, which start together.
std::vector<absl::StatusOr<CommitResult>> CommitTogether(SessionStore& store,
                                                         const std::vector<Change>& changes) {
  std::vector<absl::StatusOr<CommitResult>> results(changes.size());
  std::barrier start(static_cast<std::ptrdiff_t>(changes.size()));
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < changes.size(); ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      results[i] = store.Commit(changes[i]);
    });
  }
  threads.clear();
  return results;
}

TEST_P(Contract, C020_NothingIsAppliedToADeletedSession) {
  Create();
  LetLeaseExpire();
  const Change gone = changes().Delete();
  Apply(gone);
  EXPECT_EQ(ReasonIn(store().Commit(gone)), "TOMBSTONED");
  EXPECT_EQ(ReasonIn(store().Commit(changes().Update({{"title", "x"}}))), "TOMBSTONED");
  // A late write of the last holder, and a forced resume.
  EXPECT_EQ(ReasonIn(store().Commit(changes().Begin(token()))), "TOMBSTONED");
  EXPECT_EQ(ReasonIn(store().Commit(changes().Resume(LeaseRule::kForce))), "TOMBSTONED");
}

TEST_P(Contract, C020_ALateWriteNeverOutlivesADelete) {
  Create();
  Change gone = changes().Delete();
  gone.guard.lease = LeaseRule::kNone;
  std::vector<Change> rivals = {gone};
  for (int i = 1; i < kTwins; ++i) rivals.push_back(changes().Write(token()));
  const auto results = CommitTogether(store(), rivals);
  EXPECT_EQ(ReasonIn(results[0]), "OK");
  for (size_t i = 1; i < results.size(); ++i) {
    EXPECT_THAT(ReasonIn(results[i]), ::testing::AnyOf("OK", "TOMBSTONED"));
  }
  EXPECT_EQ(ReasonIn(store().LoadForDecision(key(), std::nullopt)), "TOMBSTONED");
  Reopen();
  EXPECT_EQ(ReasonIn(store().LoadForDecision(key(), std::nullopt)), "TOMBSTONED");
  EXPECT_TRUE(Ids().empty());
}

TEST_P(Contract, C115_ADeletedIdIsNeverFreeAgain) {
  Create();
  LetLeaseExpire();
  Apply(changes().Delete());
  EXPECT_EQ(ReasonIn(store().Commit(changes().Create())), "TOMBSTONED");
  clock().Advance(absl::Hours(24 * 365));
  Reopen();
  EXPECT_EQ(ReasonIn(store().Commit(changes().Create())), "TOMBSTONED");
}

TEST_P(Contract, C021_ARepeatedRequestAnswersTheStoredReceipt) {
  Create();
  const TurnNumber turn = Begin();
  Change change = changes().CommitTurn(token(), turn);
  change.messages = {Text("one")};
  const Receipt first = Apply(change);
  // The reply was lost, and the head moves on before the retry arrives.
  RunTurn({Text("two")});
  const std::string before = Picture();
  const auto again = store().Commit(change);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_EQ(again->kind, Kind::kRepeated);
  EXPECT_EQ(again->receipt.revision, first.revision);
  EXPECT_EQ(again->receipt.snapshot, first.snapshot);
  EXPECT_EQ(again->receipt.messages, MessageSeq(1));
  EXPECT_EQ(again->head.messages, MessageSeq(2));
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C077_ARepeatIsKnownAfterOpeningAgain) {
  Create();
  Change change = changes().Begin(token());
  const Receipt first = Apply(change);
  CommitTurn(first.turn, {Text("one")});
  Reopen();
  const std::string before = Picture();
  const auto again = store().Commit(change);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_EQ(again->kind, Kind::kRepeated);
  EXPECT_EQ(again->receipt.turn, first.turn);
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C078_ARepeatIsKnownForADay) {
  Create();
  const Change change = changes().Update({{"title", "first"}});
  Apply(change);
  Apply(changes().Update({{"title", "second"}}));
  clock().Advance(absl::Hours(24) - absl::Seconds(1));
  const auto again = store().Commit(change);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_EQ(again->kind, Kind::kRepeated);
  EXPECT_EQ(LoadHead().attributes.at("title"), "second");
}

TEST_P(Contract, C225_NoClockForPeopleForgetsARequest) {
  Create();
  const Change change = changes().Update({{"title", "first"}});
  Apply(change);
  Apply(changes().Update({{"title", "second"}}));
  for (const absl::Duration by : {absl::Hours(24 * 400), -absl::Hours(24 * 20'000)}) {
    clock().JumpWall(by);
    EXPECT_TRUE(LoadRequest(change.request->id).has_value());
    const auto again = store().Commit(change);
    ASSERT_EQ(ReasonIn(again), "OK");
    EXPECT_EQ(again->kind, Kind::kRepeated);
    EXPECT_EQ(LoadHead().attributes.at("title"), "second");
    Reopen();
    const auto reopened = store().Commit(change);
    ASSERT_EQ(ReasonIn(reopened), "OK");
    EXPECT_EQ(reopened->kind, Kind::kRepeated);
  }
}

TEST_P(Contract, C022_TheSameIdWithAnotherMeaningIsReused) {
  Create();
  const Change change = changes().Update({{"title", "first"}});
  Apply(change);
  Change other = changes().Update({{"title", "second"}});
  other.request->id = change.request->id;
  other.request->fingerprint = Sha256("another meaning");
  EXPECT_EQ(ReasonIn(store().Commit(other)), "REQUEST_ID_REUSED");
  EXPECT_EQ(LoadHead().attributes.at("title"), "first");
}

TEST_P(Contract, C079_TheSameIdForAnotherMethodIsReused) {
  Create();
  const Change change = changes().Update({{"title", "first"}});
  Apply(change);
  Change other = changes().Begin(token());
  other.request->id = change.request->id;
  other.request->fingerprint = change.request->fingerprint;
  EXPECT_EQ(ReasonIn(store().Commit(other)), "REQUEST_ID_REUSED");
  EXPECT_EQ(LoadHead().lifecycle, Lifecycle::kIdle);
}

TEST_P(Contract, C023_TheGuardRefusesInItsOrderWithTheHeadOfThatMoment) {
  Create();
  RunTurn();
  // Everything is wrong with this change; the order says which refusal it gets.
  Change change = changes().CommitTurn(token(), TurnNumber(9));
  change.guard.token->secret = std::string(kSecretBytes, 'x');
  change.guard.expected_revision = Revision(2);
  change.guard.expected_store = *StoreId::Parse("00000000-0000-4000-8000-000000000000");
  change.guard.known_revision = Revision(99);
  const auto reason = [&] { return ReasonIn(store().Commit(change)); };
  EXPECT_EQ(reason(), "RESUME_MISMATCH");
  change.guard.expected_store.reset();
  EXPECT_EQ(reason(), "REVISION_AHEAD");
  change.guard.known_revision.reset();
  EXPECT_EQ(reason(), "FENCED");
  change.guard.token = token();
  EXPECT_EQ(reason(), "ILLEGAL_TRANSITION");
  Begin();
  EXPECT_EQ(reason(), "STALE_TURN");
  change.guard.turn = TurnNumber(2);
  const auto last = store().Commit(change);
  EXPECT_EQ(ReasonIn(last), "STALE_REVISION");
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->kind, Kind::kRefused);
  EXPECT_EQ(last->head.revision, LoadHead().revision);
  EXPECT_EQ(last->head.lifecycle, Lifecycle::kActive);
}

TEST_P(Contract, C024_APremiseThatNoLongerHoldsIsNoRefusal) {
  Create();
  const Head seen = LoadHead();
  Change change = changes().Update({{"title", "x"}});
  change.premise = Premise{.lifecycle = seen.lifecycle, .epoch = seen.lease.epoch};
  // Another holder takes over between the load and the commit.
  TakeOver();
  const auto moved = store().Commit(change);
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(moved->kind, Kind::kMoved);
  EXPECT_EQ(moved->head.lifecycle, Lifecycle::kResumed);
  EXPECT_EQ(moved->head.lease.epoch, Epoch(2));
  EXPECT_TRUE(LoadHead().attributes.empty());
  // Decided again it is applied, under the same request id.
  change.premise = Premise{.lifecycle = Lifecycle::kResumed, .epoch = Epoch(2)};
  EXPECT_EQ(Apply(change).revision, LoadHead().revision);
}

TEST_P(Contract, C025_ATakenIdIsNotCreatedAgain) {
  Create();
  RunTurn({Text("one")});
  const std::string before = Picture();
  EXPECT_EQ(ReasonIn(store().Commit(changes().Create())), "SESSION_EXISTS");
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C026_AChangeOfAnUnknownSessionIsNotFound) {
  EXPECT_EQ(ReasonIn(store().Commit(changes().Update({{"title", "x"}}))), "SESSION_NOT_FOUND");
  EXPECT_EQ(ReasonIn(store().Commit(changes().Resume())), "SESSION_NOT_FOUND");
  EXPECT_TRUE(Ids().empty());
}

TEST_P(Contract, C027_ARefusedChangeLeavesNoTrace) {
  Create();
  RunTurn({Text("one")}, {MakeSlot("memory", "a")});
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "half way")});
  const std::string before = Picture();
  Change change = changes().CommitTurn(token(), turn);
  change.messages = {Text("two")};
  change.slots = {MakeSlot("memory", "b")};
  change.attributes = {{"title", "x"}};
  change.guard.expected_revision = Revision(1);
  EXPECT_EQ(ReasonIn(store().Commit(change)), "STALE_REVISION");
  EXPECT_EQ(Picture(), before);
  Reopen();
  EXPECT_EQ(Picture(), before);
}

TEST_P(Contract, C028_AForeignSessionTakesNoChange) {
  under_test().Close();
  const StoreId other = under_test().PlantForeign(key());
  under_test().Open();
  for (const Change& change : {changes().Create(), changes().Resume(LeaseRule::kForce),
                               changes().Update({{"title", "x"}}), changes().Delete()}) {
    const auto result = store().Commit(change);
    EXPECT_EQ(ReasonIn(result), "RESUME_MISMATCH");
    EXPECT_EQ(FactIn(RefusalIn(result), "stored"), other.value());
  }
  const auto rows = Rows({.tenant = key().tenant});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].foreign_store, other.value());
}

TEST_P(Contract, C029_ARefusedRequestMayStillAct) {
  Create();
  Change change = changes().Resume();
  EXPECT_EQ(ReasonIn(store().Commit(change)), "LEASE_HELD");
  EXPECT_FALSE(LoadRequest(change.request->id).has_value());
  LetLeaseExpire();
  EXPECT_EQ(Apply(change).epoch, Epoch(2));
}

TEST_P(Contract, C047_EightCopiesAtOnceHaveOneEffectAndEqualAnswers) {
  Create();
  const TurnNumber turn = Begin();
  Change change = changes().CommitTurn(token(), turn);
  change.messages = {Text("one")};
  const auto results = CommitTogether(store(), std::vector<Change>(kTwins, change));
  int applied = 0;
  for (const auto& result : results) {
    ASSERT_EQ(ReasonIn(result), "OK");
    applied += result->kind == Kind::kApplied ? 1 : 0;
    EXPECT_EQ(result->receipt.revision, Revision(3));
    EXPECT_EQ(result->receipt.messages, MessageSeq(1));
    EXPECT_EQ(result->receipt.snapshot, Revision(3));
  }
  EXPECT_EQ(applied, 1);
  EXPECT_EQ(LoadHead().revision, Revision(3));
  EXPECT_THAT(MessageTexts(), ::testing::ElementsAre("one"));
}

TEST_P(Contract, C118_EightCreationsOfOneIdHaveOneWinner) {
  std::vector<Change> rivals;
  for (int i = 0; i < kTwins; ++i) rivals.push_back(changes().Create());
  const auto results = CommitTogether(store(), rivals);
  int applied = 0;
  SessionUid winner;
  for (size_t i = 0; i < results.size(); ++i) {
    if (ReasonIn(results[i]) == "SESSION_EXISTS") continue;
    ASSERT_EQ(ReasonIn(results[i]), "OK");
    ++applied;
    winner = rivals[i].create->uid;
  }
  EXPECT_EQ(applied, 1);
  EXPECT_EQ(LoadHead().uid, winner);
  EXPECT_EQ(LoadHead().revision, Revision(1));
}

TEST_P(Contract, C120_EightGrantsAtOnceHaveEightEpochs) {
  Create();
  std::vector<Change> rivals;
  for (int i = 0; i < kTwins; ++i) rivals.push_back(changes().Resume(LeaseRule::kForce));
  std::vector<uint64_t> epochs;
  for (const auto& result : CommitTogether(store(), rivals)) {
    ASSERT_EQ(ReasonIn(result), "OK");
    epochs.push_back(result->receipt.epoch.value());
  }
  EXPECT_THAT(epochs, ::testing::UnorderedElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_P(Contract, C048_ChangesOfOneSessionNeverInterleave) {
  Create();
  std::vector<Change> rivals;
  for (int i = 0; i < kTwins; ++i) {
    Change change = changes().Write(token());
    change.messages = {Text(std::to_string(i) + "a"), Text(std::to_string(i) + "b")};
    rivals.push_back(std::move(change));
  }
  for (const auto& result : CommitTogether(store(), rivals)) EXPECT_EQ(ReasonIn(result), "OK");
  const auto texts = MessageTexts();
  ASSERT_EQ(texts.size(), size_t{2 * kTwins});
  for (size_t i = 0; i < texts.size(); i += 2) {
    EXPECT_EQ(texts[i].front(), texts[i + 1].front());
    EXPECT_EQ(texts[i].back(), 'a');
    EXPECT_EQ(texts[i + 1].back(), 'b');
  }
  EXPECT_EQ(LoadHead().revision, Revision(1 + kTwins));
}

}  // namespace
}  // namespace holdfast::test
