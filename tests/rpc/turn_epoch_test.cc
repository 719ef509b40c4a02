// A request id outlives the epoch it was sent under: a repeated reply names the epoch of its turn.
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <string>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

class TurnEpochRpc : public Served {
 protected:
  std::string TakeOver() {
    pb::ResumeSessionResponse resumed;
    EXPECT_TRUE(Ask(&Stub::ResumeSession, ForceRequest("one"), &resumed).ok());
    return resumed.lease_token();
  }
};

TEST_F(TurnEpochRpc, ARepeatedBeginSaysUnderWhichEpochTheTurnBegan) {
  pb::BeginTurnRequest begin = BeginRequest("one", Create("one").lease_token());
  pb::BeginTurnResponse first;
  ASSERT_TRUE(Ask(&Stub::BeginTurn, begin, &first).ok());
  EXPECT_EQ(first.epoch(), 1);
  const std::string token = TakeOver();

  // The turn was abandoned by the resume: nothing can be done with it.
  begin.set_lease_token(token);
  pb::BeginTurnResponse again;
  ASSERT_TRUE(Ask(&Stub::BeginTurn, begin, &again).ok());
  EXPECT_TRUE(again.repeated());
  EXPECT_EQ(again.turn(), first.turn());
  EXPECT_EQ(again.epoch(), 1);
  EXPECT_EQ(Get("one").lease().epoch(), 2);
  EXPECT_EQ(ReasonOf(Ask(&Stub::CommitTurn, CommitRequest("one", token, again.turn(), "lost"))),
            "ILLEGAL_TRANSITION");

  pb::BeginTurnResponse next;
  ASSERT_TRUE(Ask(&Stub::BeginTurn, BeginRequest("one", token), &next).ok());
  EXPECT_EQ(next.epoch(), 2);
  Commit("one", token, next.turn(), "said");
}

TEST_F(TurnEpochRpc, ARepeatedCommitSaysUnderWhichEpochTheNextTurnBegan) {
  const std::string token = Create("one").lease_token();
  pb::CommitTurnRequest commit = CommitRequest("one", token, Begin("one", token).turn(), "said");
  commit.mutable_begin_next()->set_source(pb::TURN_SOURCE_USER);
  pb::CommitTurnResponse first;
  ASSERT_TRUE(Ask(&Stub::CommitTurn, commit, &first).ok());
  EXPECT_EQ(first.epoch(), 1);
  commit.set_lease_token(TakeOver());
  pb::CommitTurnResponse again;
  ASSERT_TRUE(Ask(&Stub::CommitTurn, commit, &again).ok());
  EXPECT_TRUE(again.repeated());
  EXPECT_EQ(again.next_turn(), 2);
  EXPECT_EQ(again.epoch(), 1);
}

TEST_F(TurnEpochRpc, TheOutcomeOfARequestSaysItToo) {
  const std::string token = Create("one").lease_token();
  const pb::BeginTurnRequest begin = BeginRequest("one", token);
  ASSERT_TRUE(Ask(&Stub::BeginTurn, begin).ok());
  TakeOver();
  pb::GetRequestOutcomeRequest request;
  request.set_session_id("one");
  request.set_request_id(begin.request_id());
  request.set_method(pb::METHOD_BEGIN_TURN);
  pb::GetRequestOutcomeResponse outcome;
  ASSERT_TRUE(Ask(&Stub::GetRequestOutcome, request, &outcome).ok());
  EXPECT_EQ(outcome.begin_turn().epoch(), 1);
}

// The server validates the fields of a request before it loads the session and checks the lease.
TEST_F(TurnEpochRpc, WhatIsRequiredIsAskedForBeforeTheLease) {
  Create("one");
  pb::BeginTurnRequest begin = BeginRequest("one", "");
  EXPECT_EQ(ReasonOf(Ask(&Stub::BeginTurn, begin)), "LEASE_REQUIRED");
  begin.clear_source();
  EXPECT_EQ(ReasonOf(Ask(&Stub::BeginTurn, begin)), "INVALID_FIELD");
  begin.set_session_id("nowhere");
  EXPECT_EQ(ReasonOf(Ask(&Stub::BeginTurn, begin)), "INVALID_FIELD");

  grpc::ClientContext context;
  const auto stream = sessions().AppendJournalStream(&context);
  pb::AppendJournalStreamRequest opening;
  opening.set_session_id("one");
  ASSERT_TRUE(stream->Write(opening));
  stream->WritesDone();
  pb::AppendJournalStreamResponse unused;
  EXPECT_FALSE(stream->Read(&unused));
  EXPECT_EQ(ReasonOf(stream->Finish()), "INVALID_FIELD");

  pb::ResumeSessionRequest resume = ForceRequest("one");
  *resume.mutable_create_if_missing() = CreateRequest("one");
  EXPECT_EQ(ReasonOf(Ask(&Stub::ResumeSession, resume)), "INVALID_FIELD");
  resume.mutable_create_if_missing()->set_request_id(resume.request_id());
  EXPECT_TRUE(Ask(&Stub::ResumeSession, resume).ok());

  pb::ListJournalEntriesRequest journal;
  journal.set_session_id("one");
  journal.set_page_size(-1);
  EXPECT_EQ(ReasonOf(Ask(&Stub::ListJournalEntries, journal)), "INVALID_FIELD");
  pb::ListEventsRequest events;
  events.set_session_id("one");
  events.set_page_size(-1);
  EXPECT_EQ(ReasonOf(Ask(&Stub::ListEvents, events)), "INVALID_FIELD");
}

}  // namespace
}  // namespace holdfast::test
