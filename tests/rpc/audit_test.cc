// The audit chain and the store over the wire, and snapshots inside a turn.
#include "holdfast/v1/store_service.grpc.pb.h"
#include "session/limits.h"
#include "session/refusal.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>

namespace holdfast::test {
namespace {

using Stub = pb::SessionService::Stub;

class AuditRpc : public Served {
 protected:
  static pb::AppendAuditRequest Approval(const std::string& id) {
    pb::AppendAuditRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id(id);
    request.set_audit_class("Approval");
    request.set_code("granted");
    request.set_correlation_id("turn-1");
    (*request.mutable_data())["tool"] = "rm";
    return request;
  }

  pb::VerifyAuditResponse Verify(const std::string& id) {
    pb::VerifyAuditRequest request;
    request.set_session_id(id);
    pb::VerifyAuditResponse response;
    EXPECT_TRUE(Ask(&Stub::VerifyAudit, request, &response).ok());
    return response;
  }
};

TEST_F(AuditRpc, RecordsAreAppendedReadAndVerified) {
  Create("one");
  const pb::AppendAuditRequest request = Approval("one");
  pb::AppendAuditResponse appended;
  ASSERT_TRUE(Ask(&Stub::AppendAudit, request, &appended).ok());
  EXPECT_EQ(appended.seq(), 2);
  EXPECT_EQ(appended.revision(), 1);
  ASSERT_TRUE(Ask(&Stub::AppendAudit, request, &appended).ok());
  EXPECT_TRUE(appended.repeated());
  EXPECT_EQ(appended.seq(), 2);
  pb::ListAuditRecordsRequest read;
  read.set_session_id("one");
  read.set_page_size(1);
  pb::ListAuditRecordsResponse first;
  ASSERT_TRUE(Ask(&Stub::ListAuditRecords, read, &first).ok());
  ASSERT_EQ(first.records_size(), 1);
  EXPECT_FALSE(first.next_page_token().empty());
  EXPECT_EQ(first.records(0).code(), "start");
  read.set_page_token(first.next_page_token());
  pb::ListAuditRecordsResponse second;
  ASSERT_TRUE(Ask(&Stub::ListAuditRecords, read, &second).ok());
  EXPECT_TRUE(second.next_page_token().empty());
  ASSERT_EQ(second.records_size(), 1);
  EXPECT_EQ(second.records(0).audit_class(), "Approval");
  EXPECT_EQ(second.records(0).data().at("tool"), "rm");
  EXPECT_EQ(second.records(0).previous_hash(), first.records(0).hash());
  const pb::VerifyAuditResponse verdict = Verify("one");
  EXPECT_TRUE(verdict.valid());
  EXPECT_EQ(verdict.records(), 2);
  EXPECT_EQ(verdict.last_hash(), second.records(0).hash());
  Stop();
  // Its outcome is kept as any other's.
  EXPECT_EQ(disk().sessions.begin()->second.audit.size(), 2U);
}

TEST_F(AuditRpc, LongFactIsCutAndItsRestCounted) {
  Create("one");
  pb::AppendAuditRequest request = Approval("one");
  request.clear_data();
  // The character that begins one byte before the limit goes whole.
  const std::string begin(kAuditValueBytes - 1, 'v');
  (*request.mutable_data())["output"] = begin + "\u00fc and so on";
  (*request.mutable_data())["whole"] = begin + "v";
  ASSERT_TRUE(Ask(&Stub::AppendAudit, request).ok());
  EXPECT_TRUE(Ask(&Stub::AppendAudit, request).ok());
  pb::ListAuditRecordsRequest list;
  list.set_session_id("one");
  pb::ListAuditRecordsResponse records;
  ASSERT_TRUE(Ask(&Stub::ListAuditRecords, list, &records).ok());
  ASSERT_EQ(records.records_size(), 2);
  const auto& data = records.records(1).data();
  EXPECT_EQ(data.size(), 3U);
  EXPECT_EQ(data.at("output"), begin);
  EXPECT_EQ(data.at("holdfast.cut.output"), "12");
  EXPECT_EQ(data.at("whole"), begin + "v");
  EXPECT_TRUE(Verify("one").valid());
}

TEST_F(AuditRpc, NamesOfServersOwnFactsAreRefused) {
  Create("one");
  pb::AppendAuditRequest request = Approval("one");
  (*request.mutable_data())["holdfast.cut.output"] = "12";
  const grpc::Status refused = Ask(&Stub::AppendAudit, request);
  EXPECT_EQ(ReasonOf(refused), "INVALID_FIELD");
  EXPECT_NE(Describe(refused).find("field=data"), std::string::npos) << Describe(refused);
}

TEST_F(AuditRpc, FactsAreBoundedTogether) {
  Create("one");
  constexpr size_t kFacts = kAuditBytes / kAuditValueBytes;
  pb::AppendAuditRequest request = Approval("one");
  request.clear_data();
  for (size_t i = 0; i < kFacts; ++i) {
    (*request.mutable_data())[std::to_string(i)] = std::string(kAuditValueBytes - 1, 'v');
  }
  pb::AppendAuditRequest over = request;
  over.set_request_id(NewRequestId());
  (*over.mutable_data())["0"] += 'v';
  const grpc::Status refused = Ask(&Stub::AppendAudit, over);
  EXPECT_EQ(ReasonOf(refused), "TOO_LARGE");
  EXPECT_NE(Describe(refused).find("field=data; got=262145; limit=262144"), std::string::npos)
      << Describe(refused);
  EXPECT_TRUE(Ask(&Stub::AppendAudit, request).ok());
  EXPECT_TRUE(Verify("one").valid());
}

TEST_F(AuditRpc, ItsOutcomeCanBeAsked) {
  Create("one");
  const pb::AppendAuditRequest request = Approval("one");
  ASSERT_TRUE(Ask(&Stub::AppendAudit, request).ok());
  pb::GetRequestOutcomeRequest ask;
  ask.set_session_id("one");
  ask.set_request_id(request.request_id());
  ask.set_method(pb::METHOD_APPEND_AUDIT);
  pb::GetRequestOutcomeResponse outcome;
  ASSERT_TRUE(Ask(&Stub::GetRequestOutcome, ask, &outcome).ok());
  EXPECT_EQ(outcome.append_audit().seq(), 2);
}

TEST_F(AuditRpc, ASnapshotInsideATurnNeedsNoOutcome) {
  const std::string token = Create("one").lease_token();
  Begin("one", token);
  pb::CommitTurnRequest keep = CommitRequest("one", token, 1, "so far");
  keep.mutable_keep_open();
  keep.clear_outcome();
  pb::CommitTurnResponse kept;
  ASSERT_TRUE(Ask(&Stub::CommitTurn, keep, &kept).ok());
  EXPECT_EQ(kept.revision(), 3);
  EXPECT_EQ(kept.message_count(), 1);
  EXPECT_EQ(Get("one").turn().number(), 1);
  EXPECT_EQ(Get("one").snapshot_revision(), 3);
  ASSERT_TRUE(Ask(&Stub::AbandonTurn, AbandonRequest("one", token, 1)).ok());
  EXPECT_EQ(Get("one").lifecycle(), pb::LIFECYCLE_PERSISTED);
  EXPECT_EQ(Get("one").message_count(), 1);
}

TEST_F(AuditRpc, TheStoreIsDescribedAndChecked) {
  Create("one");
  const auto store = pb::StoreService::NewStub(channel());
  grpc::ClientContext describe_context;
  pb::DescribeStoreResponse described;
  ASSERT_TRUE(store->DescribeStore(&describe_context, {}, &described).ok());
  EXPECT_EQ(described.kind(), "reference");
  EXPECT_EQ(described.contract_version(), "1.0.0");
  EXPECT_EQ(described.required_core_version(), ">=1.0.0 <2.0.0");
  EXPECT_EQ(described.store_id(), disk().store.value());
  EXPECT_TRUE(described.capabilities().journaling());
  EXPECT_EQ(described.loaded_cardinality(), pb::STORE_CARDINALITY_UNLIMITED);
  EXPECT_EQ(described.active_cardinality(), pb::STORE_CARDINALITY_ONE);
  EXPECT_EQ(described.reload_behavior(), pb::STORE_RELOAD_BEHAVIOR_NEVER);
  const auto check = [&] {
    grpc::ClientContext context;
    pb::CheckStoreResponse response;
    EXPECT_TRUE(store->CheckStore(&context, {}, &response).ok());
    return response;
  };
  const int checks = script().Checks();
  EXPECT_TRUE(check().reachable());
  EXPECT_TRUE(check().writable());
  EXPECT_EQ(check().diagnostic(), "");
  EXPECT_EQ(script().Checks(), checks + 1) << "each writes and syncs: they are shared";
  clock().Advance(kStoreCheckShared);
  script().Fail(StoreUnavailable("the disk is read-only: mount it anew", Fate::kNoEffect));
  const pb::CheckStoreResponse failed = check();
  EXPECT_TRUE(failed.reachable());
  EXPECT_FALSE(failed.writable());
  EXPECT_EQ(failed.diagnostic(), "the disk is read-only: mount it anew");
  script().Fail(absl::OkStatus());
  EXPECT_FALSE(check().writable()) << "it is still the last one";
  clock().Advance(kStoreCheckShared);
  EXPECT_TRUE(check().writable());
  EXPECT_EQ(script().Checks(), checks + 3);
}

class StoreChecks : public Served {
 protected:
  grpc::Status Check(pb::CheckStoreResponse& response) {
    const auto store = pb::StoreService::NewStub(channel());
    grpc::ClientContext context;
    return store->CheckStore(&context, {}, &response);
  }
};

TEST_F(StoreChecks, AStoreWhoseCheckHangsIsNotWritable) {
  pb::CheckStoreResponse before;
  ASSERT_TRUE(Check(before).ok());
  EXPECT_TRUE(before.writable());
  clock().Advance(absl::Minutes(1));
  script().Hold();
  pb::CheckStoreResponse ended;
  std::thread hangs([&] { EXPECT_TRUE(Check(ended).ok()); });
  script().AwaitWaiting(1);
  clock().Advance(absl::Hours(1));
  pb::CheckStoreResponse meanwhile;
  EXPECT_TRUE(Check(meanwhile).ok());
  EXPECT_TRUE(meanwhile.reachable());
  EXPECT_FALSE(meanwhile.writable());
  EXPECT_THAT(meanwhile.diagnostic(),
              ::testing::MatchesRegex("a check of the store has not ended for 360[0-9] s.*"));
  script().Release();
  hangs.join();
  EXPECT_TRUE(ended.writable());
  EXPECT_TRUE(Check(meanwhile).ok());
  EXPECT_TRUE(meanwhile.writable());
}

// A short one is no reason for doubt.
TEST_F(StoreChecks, WhileACheckIsUnderWayTheLastOneIsTheAnswer) {
  pb::CheckStoreResponse response;
  ASSERT_TRUE(Check(response).ok());
  clock().Advance(kStoreCheckShared);
  script().Hold();
  pb::CheckStoreResponse ended;
  std::thread waits([&] { EXPECT_TRUE(Check(ended).ok()); });
  script().AwaitWaiting(1);
  EXPECT_TRUE(Check(response).ok());
  EXPECT_TRUE(response.writable());
  script().Release();
  waits.join();
}

TEST_F(StoreChecks, AStoreWhoseCheckThrewIsCheckedAgain) {
  script().Throw(true);
  pb::CheckStoreResponse response;
  EXPECT_EQ(Check(response).error_code(), grpc::StatusCode::INTERNAL);
  script().Throw(false);
  const grpc::Status again = Check(response);
  EXPECT_TRUE(again.ok()) << again.error_message();
  EXPECT_TRUE(response.writable());
}

}  // namespace
}  // namespace holdfast::test
