// Compactions over the wire: in a turn and without one, listed, taken back, and refused.
#include "holdfast/v1/store_service.grpc.pb.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"
#include "tests/support/streamed_commit.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using ::testing::ElementsAre;

using Stub = pb::SessionService::Stub;

std::string FieldOf(const grpc::Status& refused) {
  const auto info = ErrorInfoOf(DetailsOf(refused));
  const auto field = info.metadata().find("field");
  return field == info.metadata().end() ? "" : field->second;
}

class CompactionRpc : public Served {
 protected:
  // A session with two turns of one message each; answers its token.
  std::string CreateWithHistory() {
    const std::string token = Create("one").lease_token();
    for (const char* text : {"first", "second"}) {
      Commit("one", token, static_cast<uint64_t>(Begin("one", token).turn()), text);
    }
    return token;
  }

  // The commit of a new turn that replaces the history by a summary.
  pb::CommitTurnRequest Compacting(const std::string& token) {
    const auto turn = static_cast<uint64_t>(Begin("one", token).turn());
    pb::CommitTurnRequest request = CommitRequest("one", token, turn, "summary");
    request.set_replace_history(true);
    pb::Compaction& compaction = *request.mutable_compaction();
    compaction.set_trigger(pb::COMPACTION_TRIGGER_AUTO);
    compaction.set_size_before(180'000);
    compaction.set_size_after(9'000);
    pb::ItemRef& survived = *compaction.add_survived();
    survived.set_collection("notes");
    survived.set_key("anchor");
    return request;
  }

  std::vector<std::string> Messages() {
    pb::ListMessagesRequest request;
    request.set_session_id("one");
    pb::ListMessagesResponse response;
    EXPECT_TRUE(Ask(&Stub::ListMessages, request, &response).ok());
    std::vector<std::string> texts;
    for (const pb::Message& message : response.messages()) texts.push_back(message.data());
    return texts;
  }

  std::vector<pb::AuditRecord> Records(const std::string& audit_class) {
    pb::ListAuditRecordsRequest request;
    request.set_session_id("one");
    request.set_audit_class(audit_class);
    request.set_page_size(1);
    std::vector<pb::AuditRecord> records;
    do {
      pb::ListAuditRecordsResponse response;
      EXPECT_TRUE(Ask(&Stub::ListAuditRecords, request, &response).ok());
      EXPECT_LE(response.records_size(), 1);
      records.insert(records.end(), response.records().begin(), response.records().end());
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return records;
  }
};

TEST_F(CompactionRpc, ReplacesTheHistoryAndCanBeTakenBack) {
  const std::string token = CreateWithHistory();
  const pb::Session before = Get("one");
  ASSERT_TRUE(Ask(&Stub::CommitTurn, Compacting(token)).ok());
  EXPECT_THAT(Messages(), ElementsAre("summary"));
  const pb::Session after = Get("one");
  EXPECT_EQ(after.compaction_count(), 1);
  EXPECT_EQ(after.context_number(), before.context_number() + 1);
  EXPECT_EQ(after.checkpoint_count(), 0);  // of a caller's own
  pb::ListCheckpointsRequest list;
  list.set_session_id("one");
  list.add_kinds(pb::CHECKPOINT_KIND_PRE_COMPACTION);
  pb::ListCheckpointsResponse checkpoints;
  ASSERT_TRUE(Ask(&Stub::ListCheckpoints, list, &checkpoints).ok());
  ASSERT_EQ(checkpoints.checkpoints_size(), 1);
  EXPECT_EQ(checkpoints.checkpoints(0).revision(), before.snapshot_revision());
  EXPECT_EQ(checkpoints.checkpoints(0).turn(), 2);
  EXPECT_EQ(checkpoints.checkpoints(0).message_count(), 2);
  EXPECT_EQ(checkpoints.checkpoints(0).history_digest(), before.history_digest());
  pb::RestoreSessionRequest restore;
  restore.set_request_id(NewRequestId());
  restore.set_session_id("one");
  restore.set_lease_token(token);
  restore.set_expected_revision(after.revision());
  restore.mutable_point()->set_revision(checkpoints.checkpoints(0).revision());
  ASSERT_TRUE(Ask(&Stub::RestoreSession, restore).ok());
  EXPECT_THAT(Messages(), ElementsAre("first", "second"));
  EXPECT_EQ(Get("one").context_number(), after.context_number() + 1);
}

TEST_F(CompactionRpc, IsListedByItsClass) {
  const std::string token = CreateWithHistory();
  ASSERT_TRUE(Ask(&Stub::CommitTurn, Compacting(token)).ok());
  ASSERT_TRUE(Ask(&Stub::CommitTurn, Compacting(token)).ok());
  const std::vector<pb::AuditRecord> records = Records("Compaction");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].data().at("size_before"), "180000");
  EXPECT_EQ(records[0].data().at("messages_before"), "2");
  EXPECT_EQ(records[1].data().at("messages_before"), "1");
  EXPECT_EQ(records[1].data().at("survived.1"), "notes/anchor");
  EXPECT_TRUE(Records("compaction").empty());  // a class is spelled as it is
  pb::AppendAuditRequest own;
  own.set_request_id(NewRequestId());
  own.set_session_id("one");
  own.set_audit_class("compaction");
  own.set_code("c");
  own.set_correlation_id("c");
  EXPECT_EQ(ReasonOf(Ask(&Stub::AppendAudit, own)), "INVALID_FIELD");
}

TEST_F(CompactionRpc, GoesWithAStream) {
  const std::string token = CreateWithHistory();
  std::vector<pb::CommitTurnStreamRequest> parts = PartsOf(Compacting(token));
  pb::CommitTurnResponse response;
  ASSERT_TRUE(Stream(sessions(), parts, &response).ok());
  EXPECT_EQ(response.message_count(), 1);
  EXPECT_THAT(Messages(), ElementsAre("summary"));
  EXPECT_EQ(Get("one").compaction_count(), 1);
}

TEST_F(CompactionRpc, NeedsItsTrigger) {
  const std::string token = CreateWithHistory();
  pb::CommitTurnRequest request = Compacting(token);
  request.mutable_compaction()->clear_trigger();
  const grpc::Status refused = Ask(&Stub::CommitTurn, request);
  EXPECT_EQ(ReasonOf(refused), "INVALID_FIELD");
  EXPECT_EQ(FieldOf(refused), "compaction.trigger");
  request.mutable_compaction()->set_trigger(pb::COMPACTION_TRIGGER_MANUAL);
  request.mutable_compaction()->set_size_after(-1);
  EXPECT_EQ(FieldOf(Ask(&Stub::CommitTurn, request)), "compaction.size_after");
  EXPECT_EQ(Get("one").compaction_count(), 0);
}

}  // namespace
}  // namespace holdfast::test
