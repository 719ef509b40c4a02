// Sessions that are created in the place of deleted ones, over real servers: what names the deleted
// session, and late copies of its calls, which do nothing.
#include "holdfast/v1/item_service.grpc.pb.h"
#include "holdfast/v1/store_service.grpc.pb.h"
#include "tests/support/channel.h"
#include "tests/support/each_store.h"
#include "tests/support/requests.h"
#include "tests/support/wait.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Stub = WireClient::Stub;

constexpr char kMine[] = "mine";

// The calls of one process, each sent until it is answered: the server may be gone meanwhile.
class Caller final {
 public:
  explicit Caller(const std::string& address)
      : sessions_(address),
        items_(pb::ItemService::NewStub(Connected(address))),
        store_(pb::StoreService::NewStub(Connected(address))) {}

  template <typename Request, typename Reply>
  Verdict Send(WireClient::Method<Request, Reply> method, const Request& request) {
    return UntilAnswered([&] { return sessions_.Ask(method, request).verdict; });
  }
  Verdict Send(const pb::PutItemsRequest& request) {
    return UntilAnswered([&] {
      return Ask(
          request,
          [&](auto* context, auto* reply) { return items_->PutItems(context, request, reply); },
          pb::PutItemsResponse());
    });
  }
  Verdict Send(const pb::WriteSnapshotRequest& request) {
    return UntilAnswered([&] {
      return Ask(
          request,
          [&](auto* context, auto* reply) {
            return store_->WriteSnapshot(context, request, reply);
          },
          pb::WriteSnapshotResponse());
    });
  }
  WireClient& sessions() { return sessions_; }

  std::vector<std::string> Items(const std::string& session) {
    std::vector<std::string> keys;
    pb::ReadItemsRequest request;
    request.set_session_id(session);
    request.set_collection("notes");
    grpc::ClientContext context;
    const auto reader = items_->ReadItems(&context, request);
    for (pb::ReadItemsResponse response; reader->Read(&response);) {
      for (const pb::ItemPiece& piece : response.pieces()) keys.push_back(piece.item().key());
    }
    EXPECT_EQ(VerdictOf(reader->Finish()).reason, "OK");
    return keys;
  }

 private:
  template <typename Request, typename Call, typename Reply>
  static Verdict Ask(const Request& /*request*/, Call call, Reply reply) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
    return VerdictOf(call(&context, &reply));
  }

  template <typename Once>
  static Verdict UntilAnswered(Once once) {
    Verdict verdict;
    WaitUntil([&] {
      verdict = once();
      const bool gone = verdict.reason == absl::StrCat("code ", grpc::StatusCode::UNAVAILABLE);
      return !gone && verdict.reason != "STORE_UNAVAILABLE";
    });
    return verdict;
  }

  WireClient sessions_;
  std::unique_ptr<pb::ItemService::Stub> items_;
  std::unique_ptr<pb::StoreService::Stub> store_;
};

// A call that a client may send again later.
struct LateCall {
  std::string name;
  std::function<Verdict(Caller&)> send;
};

template <typename Request>
Request RequestOn(const std::string& session, const std::string& uid) {
  Request request;
  request.set_request_id(test::NewRequestId());
  request.set_session_id(session);
  request.set_session_uid(uid);
  return request;
}

pb::PutItemsRequest PutOn(const std::string& session, const std::string& uid,
                          const std::string& key) {
  auto request = RequestOn<pb::PutItemsRequest>(session, uid);
  pb::Item& item = *request.add_puts()->mutable_item();
  item.set_collection("notes");
  item.set_key(key);
  return request;
}

pb::CreateSessionRequest CreateOpen(const std::string& session, const std::string& former) {
  pb::CreateSessionRequest create = test::CreateRequest(session);
  create.clear_holder();
  create.clear_lease_ttl();
  create.set_kind(pb::SESSION_KIND_OPEN);
  create.set_reuse_deleted(former);
  return create;
}

pb::DeleteSessionRequest DeleteOn(const std::string& session, const std::string& uid) {
  return RequestOn<pb::DeleteSessionRequest>(session, uid);
}

// Every mutation of a session of kind OPEN.
std::vector<LateCall> MutationsOf(const std::string& session, const std::string& uid) {
  std::vector<LateCall> calls;
  const auto add = [&](const std::string& name, std::function<Verdict(Caller&)> send) {
    calls.push_back({.name = name, .send = std::move(send)});
  };
  const pb::PutItemsRequest put = PutOn(session, uid, "late");
  add("PutItems", [=](Caller& caller) { return caller.Send(put); });
  auto write = RequestOn<pb::WriteSnapshotRequest>(session, uid);
  pb::Message& message = *write.add_messages();
  message.set_role("user");
  message.set_content_type("text/plain");
  message.set_data("late");
  add("WriteSnapshot", [=](Caller& caller) { return caller.Send(write); });
  pb::UpdateSessionRequest update;
  update.set_request_id(test::NewRequestId());
  update.set_session_uid(uid);
  update.mutable_session()->set_session_id(session);
  (*update.mutable_session()->mutable_attributes())["title"] = "late";
  add("UpdateSession", [=](Caller& caller) { return caller.Send(&Stub::UpdateSession, update); });
  auto audit = RequestOn<pb::AppendAuditRequest>(session, uid);
  audit.set_audit_class("Tool");
  audit.set_code("late");
  audit.set_correlation_id("late");
  add("AppendAudit", [=](Caller& caller) { return caller.Send(&Stub::AppendAudit, audit); });
  auto restore = RequestOn<pb::RestoreSessionRequest>(session, uid);
  restore.mutable_point()->set_messages(0);
  add("RestoreSession",
      [=](Caller& caller) { return caller.Send(&Stub::RestoreSession, restore); });
  auto cancel = RequestOn<pb::CancelSessionRequest>(session, uid);
  cancel.set_scope(pb::CANCEL_SCOPE_SESSION);
  add("CancelSession", [=](Caller& caller) { return caller.Send(&Stub::CancelSession, cancel); });
  const auto close = RequestOn<pb::CloseSessionRequest>(session, uid);
  add("CloseSession", [=](Caller& caller) { return caller.Send(&Stub::CloseSession, close); });
  const pb::DeleteSessionRequest gone = DeleteOn(session, uid);
  add("DeleteSession", [=](Caller& caller) { return caller.Send(&Stub::DeleteSession, gone); });
  pb::PutItemsRequest creating = PutOn(session, "", "late");
  *creating.mutable_create_if_missing() = CreateOpen("", "");
  creating.mutable_create_if_missing()->clear_request_id();
  add("PutItems that creates", [=](Caller& caller) { return caller.Send(creating); });
  return calls;
}

class Recreations : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override { Start(); }

  void Start() {
    ASSERT_TRUE(server_.Start()) << server_.Log();
    caller_ = std::make_unique<Caller>(server_.address());
  }
  WireClient& client() { return caller_->sessions(); }

  std::string CreatedUid(const pb::CreateSessionRequest& create) {
    EXPECT_EQ(caller_->Send(&Stub::CreateSession, create).reason, "OK");
    return client().Get(create.session_id()).session_uid();
  }
  void Delete(const std::string& session, const std::string& uid) {
    EXPECT_EQ(caller_->Send(&Stub::DeleteSession, DeleteOn(session, uid)).reason, "OK");
  }

  // Races of this number, each over three sessions of one id: late copies of the calls of the
  // former ones are sent while the next one is created, and written to.
  void Race(int races, int races_per_kill);

 private:
  // Sends each of `late` in an order of its own, once all are ready. Counts what it was answered.
  void SendAll(std::vector<LateCall> late, uint32_t seed, std::map<std::string, int>& answers);
  // Creates a session in the place of `former` and writes to it, beside late calls; then it has
  // what was written to it and nothing else.
  void CreateBesideLate(const pb::CreateSessionRequest& create, const std::vector<LateCall>& late,
                        std::string& uid);

 protected:
  TestFolder folder_;
  StoreUnderServer store_{GetParam()};
  ServerProcess server_{folder_, store_.Settings()};
  std::unique_ptr<Caller> caller_;
  std::optional<std::latch> ready_;  // of the clients of one race
  std::map<std::string, int> answers_;
  uint32_t seed_ = 1;
};

void Recreations::SendAll(std::vector<LateCall> late, uint32_t seed,
                          std::map<std::string, int>& answers) {
  Caller own(server_.address());
  std::mt19937 random(seed);
  std::ranges::shuffle(late, random);
  ready_->arrive_and_wait();
  for (const LateCall& call : late) {
    const Verdict verdict = call.send(own);
    const auto cause = verdict.facts.find("cause");
    const bool fenced =
        verdict.reason == "FENCED" && cause != verdict.facts.end() && cause->second == "deleted";
    // A deleted session is deleted already, until there is another one.
    const bool deleted = verdict.reason == "OK" && call.name == "DeleteSession";
    EXPECT_TRUE(fenced || deleted || verdict.reason == "TOMBSTONED" ||
                verdict.reason == "SESSION_EXISTS")
        << call.name << ": " << verdict.reason << " " << verdict.message;
    ++answers[verdict.reason];
  }
}

void Recreations::CreateBesideLate(const pb::CreateSessionRequest& create,
                                   const std::vector<LateCall>& late, std::string& uid) {
  const std::string& session = create.session_id();
  std::map<std::string, int> answers[2];
  ready_.emplace(3);
  {
    std::vector<std::jthread> late_clients;
    for (auto& answered : answers) {
      late_clients.emplace_back([&, seed = seed_++] { SendAll(late, seed, answered); });
    }
    ready_->arrive_and_wait();
    uid = CreatedUid(create);
    EXPECT_EQ(caller_->Send(PutOn(session, uid, kMine)).reason, "OK");
  }
  for (const auto& answered : answers) {
    for (const auto& [reason, count] : answered) answers_[reason] += count;
  }
  EXPECT_THAT(caller_->Items(session), ElementsAre(kMine));
  const pb::Session after = client().Get(session);
  EXPECT_EQ(after.session_uid(), uid);
  EXPECT_EQ(after.message_count(), 0);
  EXPECT_EQ(after.lifecycle(), pb::LIFECYCLE_IDLE);
  EXPECT_EQ(after.revision(), 1);
  EXPECT_THAT(after.attributes(), IsEmpty());
  EXPECT_THAT(after.cancel_requests(), IsEmpty());
}

void Recreations::Race(int races, int races_per_kill) {
  for (int race = 0; race < races && !HasFailure(); ++race) {
    const std::string session = absl::StrCat("thread-", race);
    std::string uid = CreatedUid(CreateOpen(session, ""));
    std::vector<LateCall> late = MutationsOf(session, "");
    for (LateCall& call : MutationsOf(session, uid)) late.push_back(std::move(call));
    for (int life = 0; life < 2; ++life) {
      Delete(session, uid);
      const pb::CreateSessionRequest create = CreateOpen(session, uid);
      CreateBesideLate(create, late, uid);
      late.push_back({.name = "CreateSession", .send = [create](Caller& caller) {
                        return caller.Send(&Stub::CreateSession, create);
                      }});
      for (LateCall& call : MutationsOf(session, uid)) late.push_back(std::move(call));
    }
    if (race % races_per_kill == races_per_kill - 1) {
      server_.Kill();
      ASSERT_NO_FATAL_FAILURE(Start());
      EXPECT_THAT(caller_->Items(session), ElementsAre(kMine));
    }
  }
  std::cout << "figure: " << 2 * races << " races";
  for (const auto& [reason, count] : answers_) std::cout << ", " << count << " " << reason;
  std::cout << "\n";
}

TEST_P(Recreations, NameTheDeletedSession) {
  const std::string session = "thread";
  const std::string first = CreatedUid(CreateOpen(session, ""));
  for (int number = 0; number < 3; ++number) {
    EXPECT_EQ(caller_->Send(PutOn(session, "", absl::StrCat(number))).reason, "OK");
  }
  pb::ListAuditRecordsRequest records;
  records.set_session_id(session);
  records.set_page_size(1);
  records.set_page_token(client().Must(&Stub::ListAuditRecords, records).next_page_token());
  ASSERT_FALSE(records.page_token().empty());
  Delete(session, "");
  Delete(session, first);

  const Verdict gone = client().Ask(&Stub::CreateSession, CreateOpen(session, "")).verdict;
  EXPECT_EQ(gone.reason, "TOMBSTONED");
  EXPECT_EQ(gone.facts.at("session_uid"), first);
  pb::CreateSessionRequest unnamed = CreateOpen("", first);
  EXPECT_EQ(client().Reason(&Stub::CreateSession, unnamed), "INVALID_FIELD");
  EXPECT_EQ(client().Reason(&Stub::CreateSession, CreateOpen("never-was", first)),
            "SESSION_NOT_FOUND");

  const pb::CreateSessionRequest create = CreateOpen(session, first);
  const auto created = client().Must(&Stub::CreateSession, create);
  EXPECT_FALSE(created.repeated());
  EXPECT_TRUE(client().Must(&Stub::CreateSession, create).repeated());
  const std::string& second = created.session().session_uid();
  EXPECT_NE(second, first);
  EXPECT_THAT(caller_->Items(session), IsEmpty());

  pb::GetSessionRequest get;
  get.set_session_id(session);
  get.set_session_uid(second);
  EXPECT_EQ(client().Reason(&Stub::GetSession, get), "OK");
  get.set_session_uid(first);
  EXPECT_EQ(client().Ask(&Stub::GetSession, get).verdict.facts.at("cause"), "deleted");
  EXPECT_EQ(client().Reason(&Stub::ListAuditRecords, records), "FENCED");
  // A position that only the deleted session had is none that this one is behind.
  pb::ListMessagesRequest messages;
  messages.set_session_id(session);
  messages.set_revision(7);
  EXPECT_EQ(client().Reason(&Stub::ListMessages, messages), "REVISION_AHEAD");
  messages.set_session_uid(first);
  EXPECT_EQ(client().Reason(&Stub::ListMessages, messages), "FENCED");
  records.clear_page_token();
  records.set_session_uid(second);
  EXPECT_EQ(client().Must(&Stub::ListAuditRecords, records).records(0).code(), "re-create");
  for (const std::string& uid : {std::string(), first}) {
    for (const LateCall& call : MutationsOf(session, uid)) {
      EXPECT_EQ(call.send(*caller_).reason, "FENCED") << call.name << " of " << uid;
    }
  }
  EXPECT_EQ(caller_->Send(PutOn(session, second, kMine)).reason, "OK");
  server_.Kill();
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_THAT(caller_->Items(session), ElementsAre(kMine));
  EXPECT_EQ(caller_->Send(PutOn(session, first, "late")).reason, "FENCED");
}

// A create that other calls bring replaces a deleted session as CreateSession does.
TEST_P(Recreations, ComeWithOtherCalls) {
  const std::string session = "thread";
  const std::string first = CreatedUid(CreateOpen(session, ""));
  Delete(session, first);
  pb::PutItemsRequest put = PutOn(session, "", kMine);
  *put.mutable_create_if_missing() = CreateOpen("", "");
  put.mutable_create_if_missing()->clear_request_id();
  EXPECT_EQ(caller_->Send(put).reason, "TOMBSTONED");
  put.mutable_create_if_missing()->set_reuse_deleted(first);
  EXPECT_EQ(caller_->Send(put).reason, "OK");
  EXPECT_EQ(caller_->Send(put).reason, "OK");  // repeated
  EXPECT_THAT(caller_->Items(session), ElementsAre(kMine));
  const std::string second = client().Get(session).session_uid();
  Delete(session, second);

  pb::ResumeSessionRequest resume = test::ResumeRequest(session);
  pb::CreateSessionRequest& create = *resume.mutable_create_if_missing();
  create = test::CreateRequest("");
  create.clear_request_id();
  create.set_reuse_deleted(first);
  EXPECT_EQ(client().Reason(&Stub::ResumeSession, resume), "TOMBSTONED");
  create.set_reuse_deleted(second);
  const auto resumed = client().Must(&Stub::ResumeSession, resume);
  EXPECT_TRUE(resumed.created());
  const auto begun =
      client().Must(&Stub::BeginTurn, test::BeginRequest(session, resumed.lease_token()));
  EXPECT_EQ(begun.turn(), 1);
  EXPECT_EQ(client().Reason(&Stub::ResumeSession, test::ForceRequest(session)), "FENCED");
}

TEST_P(Recreations, LateCopiesDoNothing) { Race(60, 20); }

class LongRecreations : public Recreations {};

TEST_P(LongRecreations, LateCopiesDoNothing) { Race(5000, 100); }

INSTANTIATE_TEST_SUITE_P(Stores, Recreations, EachStore(), NameOfStore);
INSTANTIATE_TEST_SUITE_P(Stores, LongRecreations, EachStore(), NameOfStore);

}  // namespace
}  // namespace holdfast::testing
