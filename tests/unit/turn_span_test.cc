// The span of a turn and the links of a transition, whichever server makes them.
#include "server/telemetry/turn_span.h"

#include "session/codec/records.h"
#include "tests/unit/sessions_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const TraceRef kRecorded{.id = "0af7651916cd43dd8448eb211c80319c", .sampled = true};
const TraceRef kBefore{.id = "4bf92f3577b34da6a3ce929d0e0e4736", .sampled = true};
constexpr char kParent[] = "b7ad6b7169203331";

// A session after its second turn was ended.
Head HeadAfterSecondTurn() {
  Head head;
  head.uid = *SessionUid::Parse("33333333-3333-4333-8333-333333333333");
  head.revision = Revision(5);
  head.updated_at = absl::FromUnixSeconds(20);
  head.snapshots = {{.at = {.revision = Revision(4), .journal = JournalNumber()},
                     .generation = Generation(),
                     .messages = MessageSeq()}};
  return head;
}

Change EndOf(const TraceRef& turn, TurnOutcome outcome, const TraceRef& previous = kBefore) {
  Change change;
  change.key = {*TenantId::Parse("default"), *SessionId::Parse("one")};
  change.guard.trigger = Trigger::kCommitTurn;
  change.end_turn = EndTurn{.outcome = outcome,
                            .committed = outcome == TurnOutcome::kOk,
                            .known = KnownTurn{.turn = {.number = TurnNumber(2),
                                                        .started_at = absl::FromUnixSeconds(10),
                                                        .trace = turn,
                                                        .parent_span_id = kParent},
                                               .previous = previous}};
  return change;
}

TEST(TurnSpan, LastsFromTheBeginOfTheTurnToItsEnd) {
  const auto span = TurnSpanOf(EndOf(kRecorded, TurnOutcome::kOk), HeadAfterSecondTurn());
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(span->name, "session.turn");
  EXPECT_EQ(span->trace_id, kRecorded.id);
  EXPECT_EQ(span->parent_span_id, kParent);
  EXPECT_EQ(span->span_id, TurnSpanId(HeadAfterSecondTurn().uid, TurnNumber(2)));
  EXPECT_EQ(span->start, absl::FromUnixSeconds(10));
  EXPECT_EQ(span->end, absl::FromUnixSeconds(20));
  EXPECT_FALSE(span->status.failed);
  ASSERT_THAT(span->links, SizeIs(1));
  EXPECT_EQ(span->links[0].trace_id, kBefore.id);
  EXPECT_EQ(span->links[0].span_id, TurnSpanId(HeadAfterSecondTurn().uid, TurnNumber(1)));
  EXPECT_EQ(span->links[0].relation, "previous_turn");
}

TEST(TurnSpan, IsNoneWhereTheBeginWasNotRecorded) {
  EXPECT_FALSE(
      TurnSpanOf(EndOf({.id = kRecorded.id}, TurnOutcome::kOk), HeadAfterSecondTurn()).has_value());
  Change change = EndOf(kRecorded, TurnOutcome::kOk);
  change.end_turn.reset();
  EXPECT_FALSE(TurnSpanOf(change, HeadAfterSecondTurn()).has_value());
}

TEST(TurnSpan, LinksOnlyToWhatWasRecorded) {
  const auto span =
      TurnSpanOf(EndOf(kRecorded, TurnOutcome::kOk, {.id = kBefore.id}), HeadAfterSecondTurn());
  ASSERT_TRUE(span.has_value());
  EXPECT_THAT(span->links, IsEmpty());
}

TEST(TurnSpan, HasFailedWhereTheTurnDid) {
  for (const TurnOutcome outcome : {TurnOutcome::kError, TurnOutcome::kRecovered}) {
    EXPECT_TRUE(TurnSpanOf(EndOf(kRecorded, outcome), HeadAfterSecondTurn())->status.failed);
  }
  for (const TurnOutcome outcome : {TurnOutcome::kCancelled, TurnOutcome::kAbandoned}) {
    EXPECT_FALSE(TurnSpanOf(EndOf(kRecorded, outcome), HeadAfterSecondTurn())->status.failed);
  }
}

TEST(TurnSpan, DoesNotEndBeforeItBegan) {
  Head after = HeadAfterSecondTurn();
  after.updated_at = absl::FromUnixSeconds(5);  // the clock was set back
  const auto span = TurnSpanOf(EndOf(kRecorded, TurnOutcome::kOk), after);
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(span->end, span->start);
}

TEST(TurnSpan, IdsAreOfOneSessionAndOneTurn) {
  const SessionUid other = *SessionUid::Parse("44444444-4444-4444-8444-444444444444");
  const std::string id = TurnSpanId(HeadAfterSecondTurn().uid, TurnNumber(1));
  EXPECT_THAT(id, SizeIs(2 * kSpanIdBytes));
  EXPECT_NE(id, TurnSpanId(other, TurnNumber(1)));
  EXPECT_NE(id, TurnSpanId(HeadAfterSecondTurn().uid, TurnNumber(2)));
  EXPECT_NE(id, TransitionSpanId(HeadAfterSecondTurn().uid, Revision(1)));
}

TEST(TransitionLinks, OfAResumeLeadToTheLastSnapshotAndTheTurnThatItEnded) {
  Head after = HeadAfterSecondTurn();
  after.snapshot_trace = kBefore;
  Change change = EndOf(kRecorded, TurnOutcome::kRecovered);
  change.guard.trigger = Trigger::kResume;
  const std::vector<SpanLink> links = TransitionLinks(change, after);
  ASSERT_THAT(links, SizeIs(2));
  EXPECT_EQ(links[0].relation, "ended_turn");
  EXPECT_EQ(links[0].trace_id, kRecorded.id);
  EXPECT_EQ(links[0].span_id, TurnSpanId(after.uid, TurnNumber(2)));
  EXPECT_EQ(links[1].relation, "last_snapshot");
  EXPECT_EQ(links[1].trace_id, kBefore.id);
  EXPECT_EQ(links[1].span_id, TransitionSpanId(after.uid, Revision(4)));
}

TEST(TransitionLinks, OfAnotherTransitionDoNotLeadToTheSnapshot) {
  Head after = HeadAfterSecondTurn();
  after.snapshot_trace = kBefore;
  EXPECT_THAT(TransitionLinks(EndOf(kRecorded, TurnOutcome::kOk), after), SizeIs(1));
}

// What the session remembers for all of this.
TEST(SessionTraces, AreThoseOfTheLastTurnAndTheLastSnapshot) {
  World world;
  world.Create();
  EXPECT_EQ(world.Stored().snapshot_trace, world.caller().trace);
  world.RunTurn();
  EXPECT_EQ(world.Stored().ended_turn_trace, world.caller().trace);
  EXPECT_EQ(world.Stored().snapshot_trace, world.caller().trace);
}

TEST(SessionTraces, ComeBackFromARecord) {
  World world;
  world.Create();
  world.RunTurn();
  world.Begin();
  const Head head = world.Stored();
  const std::string bytes = EncodeHead(head);
  const auto read = DecodeHead(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->turn->trace, head.turn->trace);
  EXPECT_EQ(read->ended_turn_trace, head.ended_turn_trace);
  EXPECT_EQ(read->snapshot_trace, head.snapshot_trace);
  std::string former = bytes;
  former[0] = 2;
  EXPECT_FALSE(DecodeHead(former)) << "nothing that is served holds a record of another version";
}

}  // namespace
}  // namespace holdfast::test
