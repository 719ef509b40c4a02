#include "tests/support/token_theft.h"

#include "holdfast/v1/admin_service.grpc.pb.h"
#include "holdfast/v1/item_service.grpc.pb.h"
#include "holdfast/v1/store_service.grpc.pb.h"
#include "platform/digest.h"
#include "tests/support/channel.h"
#include "tests/support/method_rules.h"
#include "tests/support/requests.h"
#include "tests/support/streamed_commit.h"
#include "tests/support/wire_client.h"

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"

#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>

namespace holdfast::testing {
namespace {

using Stub = WireClient::Stub;
using test::BeginRequest;
using test::CommitRequest;
using test::CreateRequest;
using test::ForceRequest;

constexpr char kTokenBegins[] = "hf1.";

bool TakesToken(const google::protobuf::Descriptor& message,
                std::set<const google::protobuf::Descriptor*>& seen) {
  if (!seen.insert(&message).second) return false;
  if (message.FindFieldByName("lease_token") != nullptr) return true;
  for (int i = 0; i < message.field_count(); ++i) {
    const auto* const within = message.field(i)->message_type();
    if (within != nullptr && TakesToken(*within, seen)) return true;
  }
  return false;
}

// Every method whose request has a lease token anywhere in it. What has none either grants a lease
// (CreateSession), reads, or is open to operators of agents (TryOpen).
std::set<std::string> MethodsWithToken() {
  std::set<std::string> names;
  for (const auto* const method : test::ApiMethods()) {
    std::set<const google::protobuf::Descriptor*> seen;
    if (TakesToken(*method->input_type(), seen)) names.insert(method->name());
  }
  return names;
}

// What a resume creates the session with.
pb::CreateSessionRequest Unnamed(const std::string& holder) {
  pb::CreateSessionRequest request = CreateRequest("");
  request.clear_request_id();
  request.set_holder(holder);
  return request;
}

// The owner of the sessions, which has their tokens.
class Owner {
 public:
  explicit Owner(WireClient& client) : client_(client) {}

  // Sessions whose lease is live, by each way to get one.
  std::set<std::string> Prepare() {
    Work("named", Create("named"));
    sessions_.insert(Named(CreateLasting("")).session().session_id());
    Resume("by_resume", /*create=*/true);
    const std::string token = Create("given_back");
    client_.Must(&Stub::ReleaseLease, test::ReleaseRequest("given_back", token));
    Work("given_back", Resume("given_back", /*create=*/false));
    Create("forced");
    pb::ResumeSessionRequest force = Lasting(ForceRequest("forced"));
    const auto forced = client_.Must(&Stub::ResumeSession, force);
    reports_ += forced.report().DebugString();
    client_.Must(&Stub::BeginTurn, BeginRequest("forced", forced.lease_token()));
    return sessions_;
  }
  // The recovery reports, which operators of agents can read too.
  [[nodiscard]] const std::string& reports() const { return reports_; }
  // The request ids of its grants.
  [[nodiscard]] const std::set<std::string>& grants() const { return grants_; }

 private:
  // The longest lease: none ends while the thief is busy.
  template <typename Request>
  Request Lasting(Request request) {
    request.mutable_lease_ttl()->set_seconds(3600);
    grants_.insert(request.request_id());
    sessions_.insert(request.session_id());
    sessions_.erase("");
    return request;
  }
  pb::CreateSessionRequest CreateLasting(const std::string& session) {
    return Lasting(CreateRequest(session));
  }
  pb::CreateSessionResponse Named(const pb::CreateSessionRequest& request) {
    return client_.Must(&Stub::CreateSession, request);
  }
  std::string Create(const std::string& session) {
    return Named(CreateLasting(session)).lease_token();
  }

  std::string Resume(const std::string& session, bool create) {
    pb::ResumeSessionRequest request = Lasting(test::ResumeRequest(session));
    if (create) *request.mutable_create_if_missing() = Unnamed(request.holder());
    const auto resumed = client_.Must(&Stub::ResumeSession, request);
    reports_ += resumed.report().DebugString();
    return resumed.lease_token();
  }

  void Work(const std::string& session, const std::string& token) {
    const uint64_t turn = client_.Must(&Stub::BeginTurn, BeginRequest(session, token)).turn();
    client_.Must(&Stub::CommitTurn, CommitRequest(session, token, turn, "said"));
  }

  WireClient& client_;
  std::set<std::string> sessions_;
  std::set<std::string> grants_;
  std::string reports_;
};

class Thief {
 public:
  Thief(const std::string& address, WireClient& client, std::set<std::string> sessions)
      : client_(client),
        stub_(pb::SessionService::NewStub(Connected(address))),
        store_(pb::StoreService::NewStub(Connected(address))),
        items_(pb::ItemService::NewStub(Connected(address))),
        sessions_(std::move(sessions)) {
    AddGrants();
    AddHeld();
    AddItems();
    AddStreams();
  }

  // What a client without any token reads.
  void Look() {
    seen_ += client_.Must(&Stub::ListSessions, {}).DebugString();
    for (const std::string& session : sessions_) {
      seen_ += client_.Everything(session) + AuditOf(session);
      NoteRefusal(client_.Ask(&Stub::ResumeSession, test::ResumeRequest(session)).verdict);
      NoteRefusal(client_.Ask(&Stub::BeginTurn, BeginRequest(session, "")).verdict);
    }
  }
  void Hear(const std::string& text) { seen_ += text; }

  // Everything of the sessions that a token guards, as text.
  std::string Picture() {
    std::string picture;
    for (const std::string& session : sessions_) {
      picture += client_.Everything(session) + AuditOf(session);
    }
    return picture;
  }

  std::set<std::string> Ids() const {
    static const std::regex kId("[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}");
    std::set<std::string> ids;
    for (std::sregex_iterator it(seen_.begin(), seen_.end(), kId), end; it != end; ++it) {
      ids.insert(it->str());
    }
    return ids;
  }

  // Tries what only the holder of a lease may do, and grants.
  void TryAll(const std::string& id) {
    for (const std::string& session : sessions_) {
      for (const auto& [method, attempt] : attempts_) attempt(id, session);
    }
  }
  // The methods that TryAll tries.
  [[nodiscard]] std::set<std::string> Methods() const {
    std::set<std::string> names;
    for (const auto& [method, attempt] : attempts_) names.insert(method);
    return names;
  }

  // Tries the methods that take no lease, which operators of agents use: they may write, and their
  // answers show no token.
  void TryOpen(const std::string& id) {
    for (const std::string& session : sessions_) {
      pb::UpdateSessionRequest update;
      update.set_request_id(id);
      update.mutable_session()->set_session_id(session);
      (*update.mutable_session()->mutable_attributes())["title"] = "looked at";
      update.mutable_update_mask()->add_paths("attributes.title");
      ExpectNoTokenIn(&Stub::UpdateSession, update);
      pb::AppendAuditRequest audit;
      audit.set_request_id(id);
      audit.set_session_id(session);
      audit.set_audit_class("Note");
      audit.set_code("looked");
      audit.set_correlation_id("at");
      ExpectNoTokenIn(&Stub::AppendAudit, audit);
      auto cancel = test::SessionCancelRequest(session, pb::CANCEL_SCOPE_TOOL,
                                               client_.Get(session).turn().number(), "shell");
      cancel.set_request_id(id);
      ExpectNoTokenIn(&Stub::CancelSession, cancel);
    }
  }

 private:
  std::string AuditOf(const std::string& session) {
    pb::ListAuditRecordsRequest request;
    request.set_session_id(session);
    request.set_page_size(1000);
    const auto page = client_.Must(&Stub::ListAuditRecords, request);
    for (const pb::AuditRecord& record : page.records()) {
      const auto holder = record.data().find("holder");
      if (holder != record.data().end()) holders_.insert(holder->second);
    }
    return page.DebugString();
  }

  void NoteRefusal(const Verdict& verdict) {
    EXPECT_NE(verdict.reason, "OK");
    seen_ += verdict.message;
    for (const auto& [name, value] : verdict.facts) seen_ += '\n' + name + ": " + value;
  }

  void TryCreate(const std::string& id, const std::string& session) {
    for (const std::string& holder : holders_) {
      for (const std::string& named : {session, std::string()}) {
        pb::CreateSessionRequest request = CreateRequest(named);
        request.set_request_id(id);
        request.set_holder(holder);
        *request.mutable_manifest() = client_.Get(session).manifest();
        const auto answer = client_.Ask(&Stub::CreateSession, request);
        // A session that it creates anew is its own.
        const bool own = !sessions_.contains(answer.reply.session().session_id());
        EXPECT_TRUE(own || answer.reply.lease_token().empty())
            << "CreateSession handed out the token of " << answer.reply.session().session_id()
            << " for " << id;
      }
    }
  }

  void TryResume(const std::string& id, const std::string& session) {
    for (const std::string& holder : holders_) {
      pb::ResumeSessionRequest plain = test::ResumeRequest(session);
      plain.set_request_id(id);
      plain.set_holder(holder);
      ExpectNoToken(plain);
      pb::ResumeSessionRequest reconnecting = plain;
      reconnecting.set_lease_token(id);
      ExpectNoToken(reconnecting);
      pb::ResumeSessionRequest creating = plain;
      *creating.mutable_create_if_missing() = Unnamed(holder);
      ExpectNoToken(creating);
    }
  }

  void ExpectNoToken(const pb::ResumeSessionRequest& request) {
    const auto answer = client_.Ask(&Stub::ResumeSession, request);
    EXPECT_TRUE(answer.reply.lease_token().empty())
        << "ResumeSession handed out the token of " << request.session_id() << " for "
        << request.request_id();
  }

  template <typename Request, typename Reply>
  void ExpectNoTokenIn(WireClient::Method<Request, Reply> method, const Request& request) {
    const auto answer = client_.Ask(method, request);
    const std::string said = answer.reply.DebugString() + answer.verdict.message;
    EXPECT_EQ(said.find(kTokenBegins), std::string::npos) << request.ShortDebugString();
  }

  void AddGrants() {
    attempts_["CreateSession"] = [this](const auto& id, const auto& session) {
      TryCreate(id, session);
    };
    attempts_["ResumeSession"] = [this](const auto& id, const auto& session) {
      TryResume(id, session);
    };
    attempts_["GetRequestOutcome"] = [this](const auto& id, const auto& session) {
      TryOutcome(id, session);
    };
  }

  // Without a token, and with the id for one.
  template <typename Request, typename Reply, typename Make>
  void AddOne(const std::string& name, WireClient::Method<Request, Reply> method, Make make) {
    attempts_[name] = [this, name, method, make](const std::string& id,
                                                 const std::string& session) {
      Request request = make(session, client_.Get(session).last_turn());
      if constexpr (requires { request.set_request_id(id); }) request.set_request_id(id);
      client_.Ask(method, request);
      request.set_lease_token(id);
      EXPECT_NE(client_.Reason(method, request), "OK") << name;
    };
  }

  void AddHeld() {
    using Id = const std::string&;
    AddOne("BeginTurn", &Stub::BeginTurn,
           [](Id session, uint64_t /*turn*/) { return BeginRequest(session, ""); });
    AddOne("AppendJournal", &Stub::AppendJournal,
           [](Id session, uint64_t turn) { return test::AppendRequest(session, "", turn, 1); });
    AddOne("CommitTurn", &Stub::CommitTurn,
           [](Id session, uint64_t turn) { return CommitRequest(session, "", turn, "stolen"); });
    AddOne("AbandonTurn", &Stub::AbandonTurn,
           [](Id session, uint64_t turn) { return test::AbandonRequest(session, "", turn); });
    AddOne("ReleaseLease", &Stub::ReleaseLease,
           [](Id session, uint64_t /*turn*/) { return test::ReleaseRequest(session, ""); });
    AddOne("CloseSession", &Stub::CloseSession,
           [](Id session, uint64_t /*turn*/) { return test::CloseRequest(session, ""); });
    AddOne("DeleteSession", &Stub::DeleteSession,
           [](Id session, uint64_t /*turn*/) { return test::DeleteRequest(session, ""); });
    AddOne("RestoreSession", &Stub::RestoreSession, [](Id session, uint64_t /*turn*/) {
      pb::RestoreSessionRequest restore;
      restore.set_session_id(session);
      restore.set_request_id(test::NewRequestId());
      restore.set_expected_revision(1);
      restore.mutable_point()->set_messages(0);
      return restore;
    });
    attempts_["RenewLeases"] = [this](const std::string& id, const std::string& session) {
      for (const std::string& token : {id, std::string()}) {
        EXPECT_NE(client_.Renew(session, token).reason, "OK");
      }
    };
    attempts_["WriteSnapshot"] = [this](const std::string& id, const std::string& session) {
      grpc::ClientContext context;
      SetDeadline(context);
      pb::WriteSnapshotResponse response;
      EXPECT_FALSE(store_->WriteSnapshot(&context, Stolen(id, session), &response).ok());
    };
  }

  // Needs no token, and takes none that is not the current one.
  void AddItems() {
    attempts_["PutItems"] = [this](const std::string& id, const std::string& session) {
      pb::PutItemsRequest put;
      put.set_request_id(id);
      put.set_session_id(session);
      put.set_lease_token(id);
      put.add_puts()->mutable_item()->set_collection("notes");
      grpc::ClientContext context;
      SetDeadline(context);
      pb::PutItemsResponse response;
      EXPECT_FALSE(items_->PutItems(&context, put, &response).ok());
    };
  }

  void AddStreams() {
    attempts_["AppendJournalStream"] = [this](const std::string& id, const std::string& session) {
      grpc::ClientContext context;
      SetDeadline(context);
      const auto append = test::AppendRequest(session, id, client_.Get(session).last_turn(), 1);
      pb::AppendJournalStreamRequest request;
      request.set_session_id(session);
      request.set_lease_token(id);
      *request.mutable_entries() = append.entries();
      const auto stream = stub_->AppendJournalStream(&context);
      stream->Write(request);
      stream->WritesDone();
      pb::AppendJournalStreamResponse response;
      EXPECT_FALSE(stream->Read(&response)) << "AppendJournalStream acknowledged an entry";
      EXPECT_FALSE(stream->Finish().ok());
    };
    attempts_["CommitTurnStream"] = [this](const std::string& id, const std::string& session) {
      auto commit = CommitRequest(session, id, client_.Get(session).last_turn(), "stolen");
      commit.set_request_id(id);
      pb::CommitTurnResponse response;
      EXPECT_FALSE(test::Stream(*stub_, test::PartsOf(commit), &response).ok());
    };
    attempts_["WriteSnapshotStream"] = [this](const std::string& id, const std::string& session) {
      pb::WriteSnapshotRequest write = Stolen(id, session);
      const pb::Message message = write.messages(0);
      write.clear_messages();
      pb::WriteSnapshotStreamRequest first;
      *first.mutable_write()->mutable_write() = write;
      first.mutable_write()->set_data_bytes(message.data().size());
      pb::WriteSnapshotStreamRequest second;
      *second.mutable_message() = message;
      pb::WriteSnapshotStreamRequest last;
      last.mutable_end()->set_data_sha256(std::string(View(Sha256(message.data()))));
      grpc::ClientContext context;
      SetDeadline(context);
      pb::WriteSnapshotResponse response;
      const auto writer = store_->WriteSnapshotStream(&context, &response);
      for (const auto& part : {first, second, last}) {
        if (!writer->Write(part)) break;
      }
      writer->WritesDone();
      EXPECT_FALSE(writer->Finish().ok());
    };
  }

  pb::WriteSnapshotRequest Stolen(const std::string& id, const std::string& session) {
    pb::WriteSnapshotRequest write;
    write.set_request_id(id);
    write.set_session_id(session);
    write.set_lease_token(id);
    write.set_replace_history(true);
    pb::Message& message = *write.add_messages();
    message.set_role("user");
    message.set_data("stolen");
    return write;
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + WireClient::kPatience));
  }

  void TryOutcome(const std::string& id, const std::string& session) {
    for (const pb::Method method : {pb::METHOD_CREATE_SESSION, pb::METHOD_RESUME_SESSION}) {
      pb::GetRequestOutcomeRequest request;
      request.set_session_id(session);
      request.set_request_id(id);
      request.set_method(method);
      ExpectNoTokenIn(&Stub::GetRequestOutcome, request);
      request.set_lease_token(id);
      ExpectNoTokenIn(&Stub::GetRequestOutcome, request);
    }
  }

  WireClient& client_;
  const std::unique_ptr<Stub> stub_;
  const std::unique_ptr<pb::StoreService::Stub> store_;
  const std::unique_ptr<pb::ItemService::Stub> items_;
  const std::set<std::string> sessions_;
  // By the method's name: an attempt with an id on a session.
  std::map<std::string, std::function<void(const std::string&, const std::string&)>> attempts_;
  std::string seen_;
  std::set<std::string> holders_;
};

}  // namespace

void ExpectNoTokenIsStolen(const std::string& address) {
  WireClient client(address);
  Owner owner(client);
  Thief thief(address, client, owner.Prepare());
  EXPECT_THAT(thief.Methods(), ::testing::IsSupersetOf(MethodsWithToken()))
      << "a method with a lease token is not tried";
  thief.Look();
  thief.Hear(owner.reports());
  const std::set<std::string> ids = thief.Ids();
  EXPECT_THAT(ids, ::testing::SizeIs(::testing::Ge(12)));
  // A forced resume takes over under any id that is new, so here it is compared and not tried.
  for (const std::string& id : ids) EXPECT_FALSE(owner.grants().contains(id)) << id << " is shown";
  const std::string before = thief.Picture();
  for (const std::string& id : ids) thief.TryAll(id);
  EXPECT_EQ(thief.Picture(), before);
  for (const std::string& id : ids) thief.TryOpen(id);
}

}  // namespace holdfast::testing
