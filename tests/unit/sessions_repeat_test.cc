// A retry never acts twice: repeats, lost replies, twins, and a request id that means something
// else.
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

TEST(SessionsRepeat, EveryMutationIsAnsweredAgain) {
  World world;
  Sessions& sessions = world.sessions();
  const Caller& caller = world.caller();
  const auto twice = [](auto call) {
    const auto first = call();
    const Revision revision = first.ok() ? first->receipt.revision : Revision();
    const auto again = call();
    EXPECT_EQ(ReasonIn(first), "OK");
    ASSERT_EQ(ReasonIn(again), "OK");
    EXPECT_TRUE(again->repeated);
    EXPECT_EQ(again->receipt.revision, revision);
  };
  world.Create();
  const UpdateCommand update = world.ToUpdate("x");
  twice([&] { return sessions.Update(caller, update); });
  const BeginTurnCommand begin = world.ToBegin();
  twice([&] {
    const auto begun = sessions.BeginTurn(caller, begin);
    return begun.ok() ? absl::StatusOr<MutationResult>(begun->result) : begun.status();
  });
  const CommitTurnCommand commit = world.ToCommit(TurnNumber(1));
  twice([&] { return sessions.CommitTurn(caller, commit); });
  const AbandonTurnCommand abandon = world.ToAbandon(world.Begin());
  twice([&] { return sessions.AbandonTurn(caller, abandon); });
  const ReleaseCommand release = world.ToRelease();
  twice([&] { return sessions.Release(caller, release); });
  const ResumeCommand resume = world.ToResume();
  twice([&] {
    const auto resumed = sessions.Resume(caller, resume);
    return resumed.ok() ? absl::StatusOr<MutationResult>(resumed->result) : resumed.status();
  });
  world.TakeOver();
  const CloseCommand close = world.ToClose();
  twice([&] { return sessions.Close(caller, close); });
}

TEST(SessionsRepeat, ALostReplyIsAskedForAgainWhileTheHeadHasMovedOn) {
  World world;
  world.Create();
  CommitTurnCommand command = world.ToCommit(world.Begin());
  command.messages = {Said("one")};
  world.store().LoseReply(FaultyCall::kCommit);
  const auto lost = world.sessions().CommitTurn(world.caller(), command);
  EXPECT_EQ(ReasonIn(lost), "STORE_UNAVAILABLE");
  EXPECT_EQ(FactIn(lost.status(), "outcome"), "unknown");
  world.RunTurn({Said("two")});
  for (Sessions* server : {&world.sessions(), &world.other()}) {
    const auto again = server->CommitTurn(world.caller(), command);
    ASSERT_EQ(ReasonIn(again), "OK");
    EXPECT_TRUE(again->repeated);
    EXPECT_EQ(again->receipt.revision, Revision(3));
    EXPECT_EQ(again->head.revision, Revision(5));
  }
  EXPECT_THAT(world.Texts(), ElementsAre("one", "two"));
}

TEST(SessionsRepeat, ARequestThatFailedBeforeActingActsOnItsRetry) {
  World world;
  world.Create();
  const BeginTurnCommand command = world.ToBegin();
  world.store().Fail(FaultyCall::kCommit);
  const auto failed = world.sessions().BeginTurn(world.caller(), command);
  EXPECT_EQ(ReasonIn(failed), "STORE_UNAVAILABLE");
  EXPECT_EQ(FactIn(failed.status(), "outcome"), "known");
  const auto again = world.sessions().BeginTurn(world.caller(), command);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_FALSE(again->result.repeated);
}

TEST(SessionsRepeat, EightTwinsStartedWhileTheFirstIsHeldHaveEqualReplies) {
  constexpr int kTwins = 8;
  World world;
  world.Create();
  CommitTurnCommand command = world.ToCommit(world.Begin());
  command.messages = {Said("one")};
  const auto held = world.store().Hold(FaultyCall::kCommit);
  std::vector<absl::StatusOr<MutationResult>> replies(kTwins);
  {
    std::vector<std::jthread> twins;
    twins.reserve(kTwins);
    twins.emplace_back([&] { replies[0] = world.sessions().CommitTurn(world.caller(), command); });
    held->WaitUntilReached();
    for (int i = 1; i < kTwins; ++i) {
      Sessions& server = i % 2 == 0 ? world.sessions() : world.other();
      twins.emplace_back([&, i] { replies[i] = server.CommitTurn(world.caller(), command); });
    }
    held->Open();
  }
  int acted = 0;
  for (const auto& reply : replies) {
    ASSERT_EQ(ReasonIn(reply), "OK");
    acted += reply->repeated ? 0 : 1;
    EXPECT_EQ(reply->receipt.revision, Revision(3));
    EXPECT_EQ(reply->receipt.messages, MessageSeq(1));
  }
  EXPECT_EQ(acted, 1);
  EXPECT_THAT(world.Texts(), ElementsAre("one"));
}

TEST(SessionsRepeat, TheSameIdForSomethingElseIsReused) {
  World world;
  world.Create();
  const UpdateCommand first = world.ToUpdate("x");
  ASSERT_EQ(ReasonIn(world.sessions().Update(world.caller(), first)), "OK");
  UpdateCommand other = first;
  other.attributes["title"] = "y";
  EXPECT_EQ(ReasonIn(world.sessions().Update(world.caller(), other)), "REQUEST_ID_REUSED");
  EXPECT_EQ(ReasonIn(world.other().Update(world.caller(), other)), "REQUEST_ID_REUSED");
  BeginTurnCommand begin = world.ToBegin();
  begin.request = first.request;
  EXPECT_EQ(ReasonIn(world.other().BeginTurn(world.caller(), begin)), "REQUEST_ID_REUSED");
  EXPECT_EQ(world.Stored().attributes.at("title"), "x");
}

TEST(SessionsRepeat, LeaseAndTraceAreNotPartOfTheMeaning) {
  World world;
  world.Create();
  CommitTurnCommand command = world.ToCommit(world.Begin());
  ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), command)), "OK");
  world.TakeOver();
  command.token = world.token();
  Caller elsewhere = world.caller();
  elsewhere.trace = {};
  const auto again = world.other().CommitTurn(elsewhere, command);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_TRUE(again->repeated);
}

TEST(SessionsRepeat, AResumesTokenIsAnsweredAgainUntilItsEpochHasPassed) {
  World world;
  world.Create();
  world.LetLeaseExpire();
  const ResumeCommand command = world.ToResume();
  const auto first = world.sessions().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(first), "OK");
  const auto again = world.other().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(again), "OK");
  EXPECT_TRUE(again->result.repeated);
  EXPECT_EQ(again->token, first->token);
  world.TakeOver();
  const auto late = world.other().Resume(world.caller(), command);
  ASSERT_EQ(ReasonIn(late), "OK");
  EXPECT_TRUE(late->result.repeated);
  EXPECT_EQ(late->token, "");
}

TEST(SessionsRepeat, JournalEntriesAreTheirOwnKey) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  const AppendJournalCommand command = world.ToAppend(turn, 1, 3);
  for (Sessions* server : {&world.sessions(), &world.sessions(), &world.other()}) {
    const auto result = server->AppendJournal(world.caller(), command);
    ASSERT_EQ(ReasonIn(result), "OK");
    EXPECT_EQ(result->receipt.last_entry, EntryNumber(3));
  }
  EXPECT_EQ(world.Stored().journal, JournalNumber(3));
  world.clock().Advance(absl::Hours(25));
  EXPECT_EQ(ReasonIn(world.other().AppendJournal(world.caller(), command)), "OK");
  AppendJournalCommand changed = command;
  changed.entries[1].data = "something else";
  EXPECT_EQ(ReasonIn(world.sessions().AppendJournal(world.caller(), changed)), "REQUEST_ID_REUSED");
  EXPECT_EQ(world.Stored().journal, JournalNumber(3));
}

TEST(SessionsRepeat, APipelinedAppendMeetsBeginNext) {
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  const AppendJournalCommand ahead = world.ToAppend(turn.Next(), 1, 1);
  EXPECT_EQ(ReasonIn(world.sessions().AppendJournal(world.caller(), ahead)), "STALE_TURN");
  CommitTurnCommand command = world.ToCommit(turn);
  command.begin_next = TurnSource::kUser;
  ASSERT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), command)), "OK");
  EXPECT_EQ(ReasonIn(world.other().AppendJournal(world.caller(), ahead)), "OK");
}

TEST(SessionsRepeat, TheThirdFailedCommitOfATurnSaysSnapshotFailed) {
  World world;
  world.Create();
  const CommitTurnCommand command = world.ToCommit(world.Begin());
  for (const char* reason : {"STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "SNAPSHOT_FAILED"}) {
    world.store().Fail(FaultyCall::kCommit);
    EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), command)), reason);
  }
  // The turn is still active, no event was appended, and the same request may still act.
  EXPECT_EQ(world.Stored().lifecycle, Lifecycle::kActive);
  EXPECT_EQ(world.EventNames().back(), "SessionTurnStart");
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), command)), "OK");
}

TEST(SessionsRepeat, OutcomeOfWhatCommitted) {
  World world;
  const CreateCommand create = world.ToCreate();
  ASSERT_EQ(ReasonIn(world.sessions().Create(world.caller(), create)), "OK");
  const auto outcome = world.other().Outcome(
      world.caller(),
      {.session = world.id(), .request = create.request, .method = Method::kCreate});
  ASSERT_EQ(ReasonIn(outcome), "OK");
  EXPECT_EQ(outcome->kind, RequestOutcome::Kind::kCommitted);
  ASSERT_TRUE(outcome->request.has_value());
  EXPECT_EQ(outcome->request->receipt.revision, Revision(1));
  EXPECT_EQ(outcome->request->receipt.token, "");
  EXPECT_EQ(ReasonIn(world.other().Outcome(
                world.caller(),
                {.session = world.id(), .request = create.request, .method = Method::kClose})),
            "INVALID_FIELD");
}

TEST(SessionsRepeat, OutcomeIsNeverOnlyWhenTheTokensEpochHasPassed) {
  using Kind = RequestOutcome::Kind;
  World world;
  world.Create();
  const TurnNumber turn = world.Begin();
  const CommitTurnCommand command = world.ToCommit(turn);
  const auto kind = [&](Method method, const std::optional<LeaseToken>& token) {
    const auto outcome = world.other().Outcome(
        world.caller(),
        {.session = world.id(), .request = command.request, .method = method, .token = token});
    EXPECT_EQ(ReasonIn(outcome), "OK");
    return outcome.ok() ? outcome->kind : Kind::kCommitted;
  };
  const LeaseToken old = world.token();
  EXPECT_EQ(kind(Method::kCommitTurn, old), Kind::kNotKnown);
  world.TakeOver();
  for (const Method method : {Method::kBeginTurn, Method::kCommitTurn, Method::kAbandonTurn,
                              Method::kWrite, Method::kRelease}) {
    EXPECT_EQ(kind(method, old), Kind::kNever);
  }
  // It is final: the copy that is still under way is refused.
  EXPECT_EQ(ReasonIn(world.sessions().CommitTurn(world.caller(), command)), "FENCED");
  for (const Method method :
       {Method::kCreate, Method::kResume, Method::kClose, Method::kDelete, Method::kUpdate}) {
    EXPECT_EQ(kind(method, old), Kind::kNotKnown);
  }
  EXPECT_EQ(kind(Method::kCommitTurn, std::nullopt), Kind::kNotKnown);
  EXPECT_EQ(kind(Method::kCommitTurn, world.token()), Kind::kNotKnown);
  LeaseToken foreign = old;
  foreign.uid = SessionUid();
  EXPECT_EQ(kind(Method::kCommitTurn, foreign), Kind::kNotKnown);
  // A day after the grant the reply could have been forgotten.
  world.clock().Advance(absl::Hours(24) + absl::Seconds(1));
  EXPECT_EQ(kind(Method::kCommitTurn, old), Kind::kNotKnown);
}

TEST(SessionsRepeat, OutcomeAfterARecovery) {
  World world;
  world.Create();
  const CommitTurnCommand command = world.ToCommit(world.Begin());
  world.clock().Advance(absl::Seconds(301));
  ASSERT_EQ(world.other().RecoverDue(absl::Seconds(300), 10).value_or(0), 1U);
  const auto outcome = world.other().Outcome(
      world.caller(), {.session = world.id(), .request = command.request, .token = command.token});
  ASSERT_EQ(ReasonIn(outcome), "OK");
  EXPECT_EQ(outcome->kind, RequestOutcome::Kind::kNever);
}

}  // namespace
}  // namespace holdfast::test
