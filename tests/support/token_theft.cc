#include "tests/support/token_theft.h"

#include "tests/support/requests.h"
#include "tests/support/wire_client.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

// What a resume creates the session with.
pb::CreateSessionRequest Unnamed(const std::string& holder) {
  pb::CreateSessionRequest request = CreateRequest("");
  request.clear_request_id();
  request.set_holder(holder);
  return request;
}

// The owner of the sessions, who knows their tokens.
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
  // What recovery reports said: people who look after agents have them too.
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
  Thief(WireClient& client, std::set<std::string> sessions)
      : client_(client), sessions_(std::move(sessions)) {}

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
      TryCreate(id, session);
      TryResume(id, session);
      TryHeld(id, session);
      TryOutcome(id, session);
    }
  }

 private:
  std::string AuditOf(const std::string& session) {
    pb::ReadAuditRequest request;
    request.set_session_id(session);
    request.set_page_size(1000);
    const auto page = client_.Must(&Stub::ReadAudit, request);
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
  void TryOne(WireClient::Method<Request, Reply> method, Request request, const std::string& id) {
    request.set_request_id(id);
    client_.Ask(method, request);
    request.set_lease_token(id);
    EXPECT_NE(client_.Reason(method, request), "OK");
  }

  void TryHeld(const std::string& id, const std::string& session) {
    const uint64_t turn = client_.Get(session).last_turn();
    TryOne(&Stub::BeginTurn, BeginRequest(session, ""), id);
    TryOne(&Stub::CommitTurn, CommitRequest(session, "", turn, "stolen"), id);
    TryOne(&Stub::AbandonTurn, test::AbandonRequest(session, "", turn), id);
    TryOne(&Stub::ReleaseLease, test::ReleaseRequest(session, ""), id);
    TryOne(&Stub::CloseSession, test::CloseRequest(session, ""), id);
    TryOne(&Stub::DeleteSession, test::DeleteRequest(session, ""), id);
  }

  void TryOutcome(const std::string& id, const std::string& session) {
    for (const char* const method : {"CreateSession", "ResumeSession"}) {
      pb::GetRequestOutcomeRequest request;
      request.set_session_id(session);
      request.set_request_id(id);
      request.set_method(method);
      const auto answer = client_.Ask(&Stub::GetRequestOutcome, request);
      EXPECT_EQ(answer.reply.create_session().lease_token(), "");
      EXPECT_EQ(answer.reply.resume_session().lease_token(), "");
    }
  }

  WireClient& client_;
  const std::set<std::string> sessions_;
  std::string seen_;
  std::set<std::string> holders_;
};

}  // namespace

void ExpectNoTokenIsStolen(const std::string& address) {
  WireClient client(address);
  Owner owner(client);
  Thief thief(client, owner.Prepare());
  thief.Look();
  thief.Hear(owner.reports());
  const std::set<std::string> ids = thief.Ids();
  EXPECT_THAT(ids, ::testing::SizeIs(::testing::Ge(12)));
  // A forced resume takes over under any id that is new, so here it is compared and not tried.
  for (const std::string& id : ids) EXPECT_FALSE(owner.grants().contains(id)) << id << " is shown";
  const std::string before = thief.Picture();
  for (const std::string& id : ids) thief.TryAll(id);
  EXPECT_EQ(thief.Picture(), before);
}

}  // namespace holdfast::testing
