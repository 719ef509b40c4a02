// StoreService over the wire: a small host that runs its own lifecycle over it, writes by
// difference, replaces histories, and reads what it wrote.
#include "holdfast/v1/store_service.grpc.pb.h"
#include "session/digest.h"
#include "session/encoding.h"
#include "session/limits.h"
#include "tests/rpc/served.h"
#include "tests/support/details.h"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using Texts = std::vector<std::string>;

pb::Message MessageOf(const std::string& text) {
  pb::Message message;
  message.set_role("user");
  message.set_content_type("text/plain");
  message.set_data(text);
  return message;
}

// The running digest as docs/formats.md tells a client to compute it.
std::string DigestOf(const Texts& history) {
  Digest digest{};
  for (const std::string& text : history) {
    Encoder out;
    out.Raw(View(digest)).Text("user").Text("text/plain").Raw(View(Sha256(text)));
    digest = Sha256(out.bytes());
  }
  return std::string(View(digest));
}

// A host's runtime: it keeps the history, and the store keeps the host's snapshots.
class Host {
 public:
  Host(pb::SessionService::Stub& sessions, pb::StoreService::Stub& store, std::string id)
      : sessions_(sessions), store_(store), id_(std::move(id)) {}

  // Takes the session up, or begins it.
  void Activate() {
    pb::ResumeSessionRequest request = ForceRequest(id_);
    *request.mutable_create_if_missing() = CreateRequest(id_);
    request.mutable_create_if_missing()->clear_request_id();
    pb::ResumeSessionResponse response;
    grpc::ClientContext context;
    const grpc::Status status = sessions_.ResumeSession(&context, request, &response);
    EXPECT_TRUE(status.ok()) << ReasonOf(status);
    token_ = response.lease_token();
  }
  void Deactivate() {
    grpc::ClientContext context;
    pb::ReleaseLeaseResponse response;
    EXPECT_TRUE(sessions_.ReleaseLease(&context, ReleaseRequest(id_, token_), &response).ok());
  }

  [[nodiscard]] pb::WriteRequest Request(const Texts& messages) const {
    pb::WriteRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id(id_);
    request.set_lease_token(token_);
    for (const std::string& text : messages) *request.add_messages() = MessageOf(text);
    return request;
  }
  grpc::Status Write(const pb::WriteRequest& request, pb::WriteResponse* response) {
    grpc::ClientContext context;
    return store_.Write(&context, request, response);
  }
  // Writes that must succeed.
  pb::WriteResponse WriteAll(const Texts& history) {
    pb::WriteResponse response;
    const grpc::Status status = Write(Request(history), &response);
    EXPECT_TRUE(status.ok()) << ReasonOf(status);
    return response;
  }

  // The history as the stream shows it, at a revision; 0 is now.
  Texts Read(uint64_t revision = 0) {
    grpc::ClientContext context;
    pb::ReadRequest request;
    request.mutable_what()->set_session_id(id_);
    request.mutable_what()->set_revision(revision);
    const auto stream = store_.Read(&context, request);
    pb::ReadResponse part;
    Texts history;
    for (int at = 0; stream->Read(&part); ++at) {
      EXPECT_EQ(part.has_session(), at == 0);
      if (part.has_session()) manifest_ = part.session().manifest();
      if (!part.item().has_message()) continue;
      if (part.item().chunk_offset() == 0) history.emplace_back();
      history.back() += part.item().message().data();
    }
    EXPECT_TRUE(stream->Finish().ok());
    return history;
  }
  [[nodiscard]] const pb::Manifest& manifest() const { return manifest_; }
  [[nodiscard]] const std::string& token() const { return token_; }

 private:
  pb::SessionService::Stub& sessions_;
  pb::StoreService::Stub& store_;
  const std::string id_;
  std::string token_;
  pb::Manifest manifest_;
};

class StoreServiceRpc : public Served {
 protected:
  pb::StoreService::Stub& store() {
    if (store_ == nullptr) store_ = pb::StoreService::NewStub(channel());
    return *store_;
  }
  Host NewHost(const std::string& id = "one") {
    Host host(sessions(), store(), id);
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
  Host host = NewHost();
  host.WriteAll({"a", "b"});
  EXPECT_EQ(host.Read(), (Texts{"a", "b"}));
  EXPECT_EQ(host.manifest().project_root(), Get("one").manifest().project_root());
  host.Deactivate();
  Host successor = NewHost();
  EXPECT_EQ(successor.Read(), (Texts{"a", "b"}));
  successor.WriteAll({"a", "b", "c"});
  EXPECT_EQ(successor.Read(), (Texts{"a", "b", "c"}));
  pb::WriteResponse refused;
  EXPECT_EQ(ReasonOf(host.Write(host.Request({"a", "b", "x"}), &refused)), "FENCED");
  successor.Deactivate();
  EXPECT_EQ(Get("one").lifecycle(), pb::LIFECYCLE_PERSISTED);
}

TEST_F(StoreServiceRpc, AWholeHistoryIsStoredAsWhatItAdds) {
  Host host = NewHost();
  EXPECT_EQ(host.WriteAll({"a", "b"}).message_count(), 2U);
  const pb::WriteResponse same = host.WriteAll({"a", "b"});
  EXPECT_EQ(same.message_count(), 2U);
  EXPECT_EQ(same.history_digest(), DigestOf({"a", "b"}));
  const pb::WriteResponse longer = host.WriteAll({"a", "b", "c"});
  EXPECT_EQ(longer.message_count(), 3U);
  EXPECT_EQ(longer.generation(), same.generation());
  EXPECT_EQ(longer.history_digest(), DigestOf({"a", "b", "c"}));
}

TEST_F(StoreServiceRpc, WhatFollowsABaseIsEnough) {
  Host host = NewHost();
  const pb::WriteResponse first = host.WriteAll({"a", "b"});
  pb::WriteRequest request = host.Request({"c"});
  request.mutable_base()->set_message_count(2);
  request.mutable_base()->set_history_digest(first.history_digest());
  pb::WriteResponse response;
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
  Host host = NewHost();
  const pb::WriteResponse before = host.WriteAll({"a", "b"});
  pb::WriteResponse response;
  for (const Texts& other : {Texts{"a"}, Texts{"a", "x"}, Texts{"x", "b", "c"}, Texts{}}) {
    const grpc::Status refused = host.Write(host.Request(other), &response);
    EXPECT_EQ(ReasonOf(refused), "INVALID_FIELD");
    EXPECT_EQ(ErrorInfoOf(DetailsOf(refused)).metadata().at("field"), "messages");
  }
  pb::WriteRequest request = host.Request({"x"});
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
  Host host = NewHost();
  Begin("one", host.token());
  pb::WriteResponse response;
  EXPECT_EQ(ReasonOf(host.Write(host.Request({"a"}), &response)), "CONCURRENT_TURN");
}

TEST_F(StoreServiceRpc, AWriteSaysWhatItWas) {
  NewHost();
  Host host = NewHost();  // resumed
  host.WriteAll({"a"});
  const Texts names = EventNames("one");
  ASSERT_GE(names.size(), 2U);
  EXPECT_EQ(names[names.size() - 2], "SessionResumed");
  EXPECT_EQ(names.back(), "SessionPersisted");
}

TEST_F(StoreServiceRpc, AWritesFateCanBeAsked) {
  Host host = NewHost();
  const pb::WriteRequest request = host.Request({"a"});
  pb::WriteResponse response;
  ASSERT_TRUE(host.Write(request, &response).ok());
  pb::GetRequestOutcomeRequest ask;
  ask.set_session_id("one");
  ask.set_request_id(request.request_id());
  ask.set_lease_token(host.token());
  ask.set_method("Write");
  pb::GetRequestOutcomeResponse outcome;
  ASSERT_TRUE(Ask(&pb::SessionService::Stub::GetRequestOutcome, ask, &outcome).ok());
  EXPECT_EQ(outcome.outcome(), pb::GetRequestOutcomeResponse::OUTCOME_COMMITTED);
}

TEST_F(StoreServiceRpc, AStreamedWriteIsOneWrite) {
  Host host = NewHost();
  const Texts history = {"small", std::string(3 * kMiB, 'x')};
  pb::WriteStreamRequest begin;
  *begin.mutable_write()->mutable_write() = host.Request({});
  begin.mutable_write()->set_data_bytes(history[0].size() + history[1].size());
  std::vector<pb::WriteStreamRequest> parts = {begin};
  *parts.emplace_back().mutable_message() = MessageOf(history[0]);
  *parts.emplace_back().mutable_message() = MessageOf(history[1].substr(0, kMiB));
  parts.emplace_back().set_more(history[1].substr(kMiB, kMiB));
  parts.emplace_back().set_more(history[1].substr(2 * kMiB));
  parts.emplace_back().mutable_end()->set_data_sha256(
      std::string(View(Sha256(history[0] + history[1]))));
  for (const bool repeated : {false, true}) {
    grpc::ClientContext context;
    pb::WriteStreamResponse response;
    const auto writer = store().WriteStream(&context, &response);
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
