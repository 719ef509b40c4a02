// StoreService over the wire: a small host that runs its own lifecycle over it, writes by
// difference, replaces histories, and reads what it wrote.
#include "holdfast/v1/store_service.grpc.pb.h"
#include "platform/digest.h"
#include "platform/encoding.h"
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"
#include "tests/support/store_host.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using testing::MessageOf;
using testing::StoreHost;
using testing::Texts;

// The running digest, computed as docs/formats.md describes it for clients.
std::string DigestOf(const Texts& history) {
  Digest digest{};
  for (const std::string& text : history) {
    Encoder out;
    out.Raw(View(digest)).Text("user").Text("text/plain").Raw(View(Sha256(text)));
    digest = Sha256(out.bytes());
  }
  return std::string(View(digest));
}

class StoreServiceRpc : public Served {
 protected:
  pb::StoreService::Stub& store() {
    if (store_ == nullptr) store_ = pb::StoreService::NewStub(channel());
    return *store_;
  }
  StoreHost NewHost(const std::string& id = "one") {
    StoreHost host(sessions(), store(), id);
    host.Activate();
    return host;
  }
  Texts EventNames(const std::string& id) {
    pb::ListEventsRequest request;
    request.set_session_id(id);
    pb::ListEventsResponse response;
    EXPECT_TRUE(Ask(&pb::SessionService::Stub::ListEvents, request, &response).ok());
    Texts names;
    for (const auto& event : response.events()) names.push_back(event.name());
    return names;
  }

 private:
  std::unique_ptr<pb::StoreService::Stub> store_;
};

TEST_F(StoreServiceRpc, AHostLivesThroughItsPhases) {
  StoreHost host = NewHost();
  host.WriteAll({"a", "b"});
  EXPECT_EQ(host.Read(), (Texts{"a", "b"}));
  EXPECT_EQ(host.manifest().project_root(), Get("one").manifest().project_root());
  host.Deactivate();
  StoreHost successor = NewHost();
  EXPECT_EQ(successor.Read(), (Texts{"a", "b"}));
  successor.WriteAll({"a", "b", "c"});
  EXPECT_EQ(successor.Read(), (Texts{"a", "b", "c"}));
  pb::WriteSnapshotResponse refused;
  EXPECT_EQ(ReasonOf(host.Write(host.Request({"a", "b", "x"}), &refused)), "FENCED");
  successor.Deactivate();
  EXPECT_EQ(Get("one").lifecycle(), pb::LIFECYCLE_PERSISTED);
}

TEST_F(StoreServiceRpc, AWholeHistoryIsStoredAsWhatItAdds) {
  StoreHost host = NewHost();
  EXPECT_EQ(host.WriteAll({"a", "b"}).message_count(), 2U);
  const pb::WriteSnapshotResponse same = host.WriteAll({"a", "b"});
  EXPECT_EQ(same.message_count(), 2U);
  EXPECT_EQ(same.history_digest(), DigestOf({"a", "b"}));
  const pb::WriteSnapshotResponse longer = host.WriteAll({"a", "b", "c"});
  EXPECT_EQ(longer.message_count(), 3U);
  EXPECT_EQ(longer.generation(), same.generation());
  EXPECT_EQ(longer.history_digest(), DigestOf({"a", "b", "c"}));
}

TEST_F(StoreServiceRpc, WhatFollowsABaseIsEnough) {
  StoreHost host = NewHost();
  const pb::WriteSnapshotResponse first = host.WriteAll({"a", "b"});
  pb::WriteSnapshotRequest request = host.Request({"c"});
  request.mutable_base()->set_message_count(2);
  request.mutable_base()->set_history_digest(first.history_digest());
  pb::WriteSnapshotResponse response;
  ASSERT_TRUE(host.Write(request, &response).ok());
  EXPECT_EQ(host.Read(), (Texts{"a", "b", "c"}));
  ASSERT_TRUE(host.Write(request, &response).ok());
  EXPECT_TRUE(response.repeated());
  EXPECT_EQ(response.message_count(), 3U);

  request.set_request_id(NewRequestId());
  const grpc::Status stale = host.Write(request, &response);
  EXPECT_EQ(ReasonOf(stale), "STALE_REVISION");
  EXPECT_EQ(ErrorInfoOf(DetailsOf(stale)).metadata().at("what"), "history");
  request.mutable_base()->set_message_count(3);
  EXPECT_EQ(ReasonOf(host.Write(request, &response)), "STALE_REVISION");
  request.mutable_base()->set_history_digest("short");
  EXPECT_EQ(ReasonOf(host.Write(request, &response)), "INVALID_FIELD");
  EXPECT_EQ(host.Read(), (Texts{"a", "b", "c"}));
}

TEST_F(StoreServiceRpc, AnotherHistoryMustSayThatItReplaces) {
  StoreHost host = NewHost();
  const pb::WriteSnapshotResponse before = host.WriteAll({"a", "b"});
  pb::WriteSnapshotResponse response;
  for (const Texts& other : {Texts{"a"}, Texts{"a", "x"}, Texts{"x", "b", "c"}, Texts{}}) {
    const grpc::Status refused = host.Write(host.Request(other), &response);
    EXPECT_EQ(ReasonOf(refused), "INVALID_FIELD");
    EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("field"), "messages");
  }
  pb::WriteSnapshotRequest request = host.Request({"x"});
  request.set_replace_history(true);
  ASSERT_TRUE(host.Write(request, &response).ok());
  EXPECT_EQ(response.generation(), before.generation() + 1);
  EXPECT_EQ(response.history_digest(), DigestOf({"x"}));
  EXPECT_EQ(host.Read(), (Texts{"x"}));
  EXPECT_EQ(host.Read(before.revision()), (Texts{"a", "b"}));
  request.set_request_id(NewRequestId());
  request.mutable_base()->set_message_count(1);
  request.mutable_base()->set_history_digest(response.history_digest());
  EXPECT_EQ(ReasonOf(host.Write(request, &response)), "INVALID_FIELD");
}

TEST_F(StoreServiceRpc, ARunningTurnIsNotWrittenOver) {
  StoreHost host = NewHost();
  Begin("one", host.token());
  pb::WriteSnapshotResponse response;
  EXPECT_EQ(ReasonOf(host.Write(host.Request({"a"}), &response)), "CONCURRENT_TURN");
}

TEST_F(StoreServiceRpc, AWriteSaysWhatItWas) {
  NewHost();
  StoreHost host = NewHost();  // resumed
  host.WriteAll({"a"});
  const Texts names = EventNames("one");
  ASSERT_GE(names.size(), 2U);
  EXPECT_EQ(names[names.size() - 2], "SessionResumed");
  EXPECT_EQ(names.back(), "SessionPersisted");
}

TEST_F(StoreServiceRpc, AWritesFateCanBeAsked) {
  StoreHost host = NewHost();
  const pb::WriteSnapshotRequest request = host.Request({"a"});
  pb::WriteSnapshotResponse response;
  ASSERT_TRUE(host.Write(request, &response).ok());
  pb::GetRequestOutcomeRequest ask;
  ask.set_session_id("one");
  ask.set_request_id(request.request_id());
  ask.set_lease_token(host.token());
  ask.set_method(pb::METHOD_WRITE_SNAPSHOT);
  pb::GetRequestOutcomeResponse outcome;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::GetRequestOutcome, ask, &outcome).ok());
  EXPECT_EQ(outcome.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_COMMITTED);
}

TEST_F(StoreServiceRpc, AStreamedWriteIsOneWrite) {
  StoreHost host = NewHost();
  const Texts history = {"small", std::string(3 * kMiB, 'x')};
  pb::WriteSnapshotStreamRequest begin;
  *begin.mutable_write()->mutable_write() = host.Request({});
  begin.mutable_write()->set_data_bytes(history[0].size() + history[1].size());
  std::vector<pb::WriteSnapshotStreamRequest> parts = {begin};
  *parts.emplace_back().mutable_message() = MessageOf(history[0]);
  *parts.emplace_back().mutable_message() = MessageOf(history[1].substr(0, kMiB));
  parts.emplace_back().set_chunk(history[1].substr(kMiB, kMiB));
  parts.emplace_back().set_chunk(history[1].substr(2 * kMiB));
  parts.emplace_back().mutable_end()->set_data_sha256(
      std::string(View(Sha256(history[0] + history[1]))));
  for (const bool repeated : {false, true}) {
    grpc::ClientContext context;
    pb::WriteSnapshotResponse response;
    const auto writer = store().WriteSnapshotStream(&context, &response);
    for (const auto& part : parts) {
      if (!writer->Write(part)) break;
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    ASSERT_TRUE(status.ok()) << ReasonOf(status);
    EXPECT_EQ(response.repeated(), repeated);
    EXPECT_EQ(response.history_digest(), DigestOf(history));
  }
  EXPECT_EQ(host.Read(), history);
}

}  // namespace
}  // namespace holdfast::test
