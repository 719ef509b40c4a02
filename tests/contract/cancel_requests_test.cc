// Cancel requests: how they are kept, what they forbid, and whose turn is over.
#include "tests/contract/suite.h"

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kGrace = absl::Seconds(10);

class CancelRequestNames {
 public:
  // "session", "turn 1", "tool 1 grep", in order.
  static std::vector<std::string> Of(const std::vector<CancelRequest>& cancel_requests) {
    std::vector<std::string> names;
    for (const CancelRequest& cancel_request : cancel_requests) {
      static const char* const kScopes[] = {"", "session", "turn", "stage", "tool"};
      std::string name = kScopes[static_cast<size_t>(cancel_request.scope)];
      if (cancel_request.turn > TurnNumber()) {
        name += ' ' + std::to_string(cancel_request.turn.value());
      }
      if (!cancel_request.name.empty()) name += ' ' + cancel_request.name;
      names.push_back(name);
    }
    return names;
  }
};

class DueToEnd {
 public:
  explicit DueToEnd(SessionStore& store) : store_(store) {}
  std::vector<std::string> operator()() {
    const auto due = store_.ListDue(DueKind::kCancelled, kGrace, std::nullopt, 100);
    EXPECT_EQ(ReasonIn(due), "OK");
    std::vector<std::string> names;
    if (!due.ok()) return names;
    for (const SessionKey& key : *due) names.push_back(key.session.value());
    return names;
  }

 private:
  SessionStore& store_;
};

TEST_P(Contract, C160_AddsCancelRequestInOrderAndMovesNoRevision) {
  Create();
  const TurnNumber turn = Begin();
  Apply(changes().RequestCancel(CancelScope::kTool, turn, "grep"));
  clock().Advance(absl::Seconds(3));
  const CommitResult requested = ApplyWhole(changes().RequestCancel(CancelScope::kSession));
  EXPECT_EQ(requested.receipt.revision, Revision(2));
  EXPECT_THAT(CancelRequestNames::Of(requested.head.cancel_requests),
              ElementsAre("tool 1 grep", "session"));
  const Head head = LoadHead();
  EXPECT_EQ(head.revision, Revision(2));
  EXPECT_THAT(CancelRequestNames::Of(head.cancel_requests), ElementsAre("tool 1 grep", "session"));
  ASSERT_EQ(head.cancel_requests.size(), 2U);
  EXPECT_EQ(head.cancel_requests[0].reason, CancelReason::kUser);
  EXPECT_EQ(head.cancel_requests[0].at, clock().Wall() - absl::Seconds(3));
  EXPECT_EQ(head.cancel_requests[1].at, clock().Wall());
  EXPECT_THAT(EventNames(), ElementsAre("SessionStarted", "SessionTurnStart",
                                        "SessionCancelRequested", "SessionCancelRequested"));
  const auto records = Audit();
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[3].code, "cancel");
}

TEST_P(Contract, C161_KeepsRepeatedCancelRequestOnce) {
  Create();
  const TurnNumber turn = Begin();
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  const absl::Time first = clock().Wall();
  clock().Advance(absl::Seconds(1));
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  Apply(changes().RequestCancel(CancelScope::kStage, turn, "plan"));
  Apply(changes().RequestCancel(CancelScope::kTool, turn, "plan"));
  Apply(changes().RequestCancel(CancelScope::kStage, turn, "plan"));
  EXPECT_THAT(CancelRequestNames::Of(LoadHead().cancel_requests),
              ElementsAre("turn 1", "stage 1 plan", "tool 1 plan"));
  ASSERT_EQ(LoadHead().cancel_requests.size(), 3U);
  EXPECT_EQ(LoadHead().cancel_requests[0].at, first);
}

TEST_P(Contract, C162_DropsCancelRequestsOfTurnAtItsEnd) {
  Create();
  for (const bool commit : {true, false}) {
    const TurnNumber turn = Begin();
    Apply(changes().RequestCancel(CancelScope::kTurn, turn));
    Apply(changes().RequestCancel(CancelScope::kTool, turn, "grep"));
    EXPECT_EQ(LoadHead().cancel_requests.size(), 2U);
    Apply(commit ? changes().CommitTurn(token(), turn) : changes().Abandon(token(), turn));
    EXPECT_THAT(LoadHead().cancel_requests, IsEmpty());
  }
  const TurnNumber turn = Begin();
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  Apply(changes().ResumeActive());
  Reopen();
  EXPECT_THAT(LoadHead().cancel_requests, IsEmpty());
}

TEST_P(Contract, C163_KeepsCancelRequestOfSessionUntilResume) {
  Create();
  const TurnNumber turn = Begin();
  Apply(changes().RequestCancel(CancelScope::kSession));
  CommitTurn(turn);
  EXPECT_THAT(CancelRequestNames::Of(LoadHead().cancel_requests), ElementsAre("session"));
  Apply(changes().Close(token()));
  EXPECT_THAT(CancelRequestNames::Of(LoadHead().cancel_requests), ElementsAre("session"));
  TakeToken(Apply(changes().Resume()));
  EXPECT_THAT(LoadHead().cancel_requests, IsEmpty());
  Begin();
}

TEST_P(Contract, C164_KeepsCancelRequestsWhenStoreIsReopened) {
  Create();
  const TurnNumber turn = Begin();
  Append(turn, {Note(turn, 1, "before")});
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  Apply(changes().RequestCancel(CancelScope::kTool, turn, "grep"));
  const std::vector<CancelRequest> cancel_requests = LoadHead().cancel_requests;
  ASSERT_EQ(cancel_requests.size(), 2U);
  for (int round = 0; round < 2; ++round) {
    Reopen();
    EXPECT_EQ(LoadHead().cancel_requests, cancel_requests);
  }
}

TEST_P(Contract, C165_BeginsNoTurnUnderCancelRequestOfSession) {
  Create();
  const TurnNumber turn = Begin();
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  Change next = changes().CommitTurn(token(), turn);
  next.guard.begins_next = true;
  next.begin_turn = BeginTurn{.source = TurnSource::kUser};
  next.to = Lifecycle::kActive;
  const TurnNumber second = Apply(next).turn;  // a cancel request of the turn forbids nothing
  EXPECT_EQ(second, TurnNumber(2));
  Apply(changes().RequestCancel(CancelScope::kSession));
  next = changes().CommitTurn(token(), second);
  next.guard.begins_next = true;
  next.begin_turn = BeginTurn{.source = TurnSource::kUser};
  next.to = Lifecycle::kActive;
  const auto refused = store().Commit(next);
  EXPECT_EQ(ReasonIn(refused), "ILLEGAL_TRANSITION");
  EXPECT_EQ(FactIn(RefusalIn(refused), "trigger"), "BeginTurn");
  CommitTurn(second);
  const auto begin = store().Commit(changes().Begin(token()));
  EXPECT_EQ(ReasonIn(begin), "ILLEGAL_TRANSITION");
  EXPECT_EQ(FactIn(RefusalIn(begin), "legal").find("BeginTurn"), std::string::npos);
}

TEST_P(Contract, C166_CountsCancelRequestsInPremise) {
  Create();
  const TurnNumber turn = Begin();
  const Head seen = LoadHead();
  Change decided = changes().Abandon(token(), turn);
  decided.premise = Premise{.lifecycle = seen.lifecycle,
                            .active_turn = turn,
                            .epoch = seen.lease.epoch,
                            .cancel_requests = 0};
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  const auto moved = store().Commit(decided);
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(moved->kind, CommitResult::Kind::kMoved);
  EXPECT_EQ(moved->head.cancel_requests.size(), 1U);
  decided.premise->cancel_requests = 1;
  Apply(decided);
}

TEST_P(Contract, C167_ShowsCancelRequestsInRenewal) {
  Create();
  const TurnNumber turn = Begin();
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  const auto renewed = store().RenewLeases({{.key = key(), .token = token()}}).at(0);
  ASSERT_EQ(ReasonIn(renewed), "OK");
  EXPECT_EQ(renewed->cancel_requests, LoadHead().cancel_requests);
  EXPECT_THAT(CancelRequestNames::Of(renewed->cancel_requests), ElementsAre("turn 1"));
}

TEST_P(Contract, C168_WhatWasGivenTimeToEndIsACandidateWhateverTheLease) {
  Create();
  Begin();
  Changes idle(Key("idle"), random());
  Apply(idle.Create());
  Changes in_turn(Key("turn"), random());
  const LeaseToken theirs = TokenIn(Apply(in_turn.Create()));
  const TurnNumber turn = Apply(in_turn.Begin(theirs)).turn;
  EXPECT_THAT(DueToEnd(store())(), IsEmpty());
  Apply(idle.RequestCancel(CancelScope::kSession));
  Apply(changes().RequestCancel(CancelScope::kSession));
  Apply(in_turn.RequestCancel(CancelScope::kTurn, turn));
  EXPECT_THAT(DueToEnd(store())(), ElementsAre("idle"));
  clock().Advance(kGrace);
  EXPECT_THAT(DueToEnd(store())(), ElementsAre("alpha", "idle", "turn"));
  Apply(in_turn.CommitTurn(theirs, turn));
  Apply(changes().Close(token()));
  EXPECT_THAT(DueToEnd(store())(), ElementsAre("idle"));
}

TEST_P(Contract, C169_CountsGraceFromFirstCancelRequestAndFromOpening) {
  Create();
  const TurnNumber turn = Begin();
  clock().Advance(absl::Seconds(60));
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  clock().Advance(kGrace - absl::Seconds(1));
  Append(turn, {Note(turn, 1, "still here")});
  Apply(changes().RequestCancel(CancelScope::kSession));
  EXPECT_THAT(DueToEnd(store())(), IsEmpty());
  clock().Advance(absl::Seconds(1));
  EXPECT_THAT(DueToEnd(store())(), ElementsAre("alpha"));
  Reopen();
  EXPECT_THAT(DueToEnd(store())(), IsEmpty());
  clock().Advance(kGrace);
  EXPECT_THAT(DueToEnd(store())(), ElementsAre("alpha"));
  // The next turn's time is its own.
  Apply(changes().Resume(LeaseRule::kForce));
  Changes other(Key("beta"), random());
  const LeaseToken theirs = TokenIn(Apply(other.Create()));
  const TurnNumber first = Apply(other.Begin(theirs)).turn;
  Apply(other.RequestCancel(CancelScope::kTurn, first));
  clock().Advance(kGrace);
  Apply(other.CommitTurn(theirs, first));
  const TurnNumber second = Apply(other.Begin(theirs)).turn;
  Apply(other.RequestCancel(CancelScope::kTurn, second));
  EXPECT_THAT(DueToEnd(store())(), ElementsAre("alpha"));
}

TEST_P(Contract, C170_MakesNoCandidateByCancelRequestOfStageOrTool) {
  Create();
  const TurnNumber turn = Begin();
  Apply(changes().RequestCancel(CancelScope::kStage, turn, "plan"));
  Apply(changes().RequestCancel(CancelScope::kTool, turn, "grep"));
  clock().Advance(10 * kGrace);
  EXPECT_THAT(DueToEnd(store())(), IsEmpty());
}

TEST_P(Contract, C171_ShowsInRowWhetherEndIsRequested) {
  const auto says = [&] {
    const auto rows = Rows({.tenant = key().tenant});
    return rows.size() == 1 && rows[0].cancelling;
  };
  Create();
  const TurnNumber turn = Begin();
  Apply(changes().RequestCancel(CancelScope::kTool, turn, "grep"));
  EXPECT_FALSE(says());
  Apply(changes().RequestCancel(CancelScope::kTurn, turn));
  EXPECT_TRUE(says());
  Reopen();
  EXPECT_TRUE(says());
  CommitTurn(turn);
  EXPECT_FALSE(says());
  Apply(changes().RequestCancel(CancelScope::kSession));
  EXPECT_TRUE(says());
  Apply(changes().Close(token()));
  EXPECT_FALSE(says());
}

}  // namespace
}  // namespace holdfast::test
