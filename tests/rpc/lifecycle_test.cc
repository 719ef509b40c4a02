// A session's whole life over the wire.
#include "tests/rpc/served.h"
#include "tests/support/golden.h"
#include "tests/support/wait.h"

#include <regex>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

class LifecycleRpc : public Served {};

TEST_F(LifecycleRpc, CreateTurnsJournalResumeReadClose) {
  const pb::CreateSessionResponse created = Create("one");
  EXPECT_EQ(created.session().lifecycle(), pb::LIFECYCLE_IDLE);
  EXPECT_EQ(created.session().revision(), 1);
  const std::string token = created.lease_token();

  const pb::BeginTurnResponse begun = Begin("one", token);
  EXPECT_EQ(begun.turn(), 1);

  grpc::ClientContext append_context;
  pb::AppendJournalRequest append;
  append.set_session_id("one");
  append.set_lease_token(token);
  pb::JournalEntry& entry = *append.add_entries();
  entry.set_turn(1);
  entry.set_number(1);
  entry.set_kind(pb::JOURNAL_KIND_SLOT_UPDATE);
  entry.mutable_slot()->set_owner("memory");
  entry.mutable_slot()->set_version("1.0.0");
  entry.mutable_slot()->set_drift_policy(pb::DRIFT_POLICY_WARN);
  entry.mutable_slot()->set_data("remembered");
  pb::AppendJournalResponse appended;
  grpc::Status status = sessions().AppendJournal(&append_context, append, &appended);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(appended.last_entry(), 1);
  EXPECT_EQ(appended.journal_number(), 1);

  const pb::CommitTurnResponse committed = Commit("one", token, 1, "hello");
  EXPECT_EQ(committed.message_count(), 1);
  EXPECT_EQ(committed.last_entry(), 1);
  EXPECT_EQ(Get("one").lifecycle(), pb::LIFECYCLE_PERSISTED);

  grpc::ClientContext slots_context;
  pb::ListSlotsRequest read_slots;
  read_slots.set_session_id("one");
  read_slots.add_owners("memory");
  pb::ListSlotsResponse slots;
  status = sessions().ListSlots(&slots_context, read_slots, &slots);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(slots.slots_size(), 1);
  EXPECT_EQ(slots.slots(0).data(), "remembered");
  EXPECT_EQ(slots.sizes(0), 10);

  grpc::ClientContext resume_context;
  pb::ResumeSessionRequest resume = ResumeRequest("one");
  resume.mutable_force()->set_reason("the agent is gone");
  resume.set_tail_messages(5);
  pb::ResumeSessionResponse resumed;
  status = sessions().ResumeSession(&resume_context, resume, &resumed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(resumed.messages_size(), 1);
  EXPECT_EQ(resumed.messages(0).data(), "hello");
  EXPECT_EQ(resumed.report().previous_holder(), "agent");
  EXPECT_NE(resumed.lease_token(), token);
  EXPECT_EQ(resumed.session().lifecycle(), pb::LIFECYCLE_RESUMED);

  grpc::ClientContext close_context;
  pb::CloseSessionRequest close;
  close.set_request_id(NewRequestId());
  close.set_session_id("one");
  close.set_lease_token(resumed.lease_token());
  pb::CloseSessionResponse closed;
  status = sessions().CloseSession(&close_context, close, &closed);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(closed.persisted());
  EXPECT_EQ(Get("one").close_reason(), pb::CLOSE_REASON_EXPLICIT);
}

TEST_F(LifecycleRpc, ARepeatIsAnsweredWithTheFirstReply) {
  const pb::CreateSessionRequest request = CreateRequest("twice");
  pb::CreateSessionResponse first;
  pb::CreateSessionResponse second;
  grpc::ClientContext first_context;
  grpc::ClientContext second_context;
  ASSERT_TRUE(sessions().CreateSession(&first_context, request, &first).ok());
  ASSERT_TRUE(sessions().CreateSession(&second_context, request, &second).ok());
  EXPECT_FALSE(first.repeated());
  EXPECT_TRUE(second.repeated());
  EXPECT_EQ(second.lease_token(), first.lease_token());
}

TEST_F(LifecycleRpc, TheServerMakesAnIdThatARetryMeetsAgain) {
  const pb::CreateSessionRequest request = CreateRequest("");
  pb::CreateSessionResponse first;
  pb::CreateSessionResponse second;
  grpc::ClientContext first_context;
  grpc::ClientContext second_context;
  ASSERT_TRUE(sessions().CreateSession(&first_context, request, &first).ok());
  ASSERT_TRUE(sessions().CreateSession(&second_context, request, &second).ok());
  EXPECT_FALSE(first.session().session_id().empty());
  EXPECT_EQ(second.session().session_id(), first.session().session_id());
  EXPECT_NE(AwaitLog("CreateSession").find(first.session().session_id()), std::string::npos);
}

TEST_F(LifecycleRpc, EachCallIsOneLineWithoutTokenOrPayload) {
  const std::string token = Create("logged").lease_token();
  Begin("logged", token);
  Commit("logged", token, 1, "a secret payload");
  EXPECT_FALSE(Ask(&pb::SessionService::Stub::BeginTurn, BeginRequest("logged", "")).ok());
  // A call lasts until the transport is done with its reply, a moment after its client has it.
  ASSERT_TRUE(testing::WaitUntil([&] { return Held().calls == 0; }));
  Stop();
  std::string calls;
  for (std::string line : LogLines()) {
    EXPECT_EQ(line.find("secret"), std::string::npos);
    EXPECT_EQ(line.find(token), std::string::npos);
    static const std::regex kMasked(
        "\"(time|ms|trace_id|span_id|address|version|store_id|pid|cores)\":(\"[^\"]+\"|[0-9.e-]+)");
    calls += std::regex_replace(line, kMasked, "\"$1\":0");
  }
  ExpectGolden("call_log.golden", calls);
}

}  // namespace
}  // namespace holdfast::test
