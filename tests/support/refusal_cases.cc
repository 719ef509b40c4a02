#include "tests/support/refusal_cases.h"

#include "session/limits.h"
#include "tests/support/details.h"
#include "tests/support/requests.h"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

constexpr char kOtherStore[] = "11111111-2222-4333-8444-555555555555";

}  // namespace

void RefusalCases::Refused(const std::string& name, const std::string& session,
                           const std::function<grpc::Status()>& ask) {
  const std::string before = Fingerprint(session);
  Note(name, ask());
  EXPECT_EQ(Fingerprint(session), before) << name;
}

void RefusalCases::Note(const std::string& name, const grpc::Status& status) {
  EXPECT_FALSE(status.ok()) << name;
  seen_.insert(ReasonOf(status));
  text_ << name << "\n  " << Describe(status);
}

std::string RefusalCases::Fingerprint(const std::string& session) {
  if (session.empty()) return "";
  pb::GetSessionRequest request;
  request.set_session_id(session);
  pb::GetSessionResponse response;
  const grpc::Status status = Ask(&Stub::GetSession, request, &response);
  EXPECT_TRUE(status.ok()) << session << ": " << status.error_message();
  response.mutable_session()->mutable_lease()->clear_expires_in();
  return response.session().ShortDebugString();
}

grpc::Status RefusalCases::AskGet(const std::string& id) {
  pb::GetSessionRequest request;
  request.set_session_id(id);
  return Ask(&Stub::GetSession, request);
}

std::string RefusalCases::Create(const std::string& id) {
  pb::CreateSessionResponse response;
  const grpc::Status status = Ask(&Stub::CreateSession, CreateRequest(id), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.lease_token();
}

void RefusalCases::Begin(const std::string& id, const std::string& token) {
  const grpc::Status status = AskBegin(BeginRequest(id, token));
  EXPECT_TRUE(status.ok()) << status.error_message();
}

void RefusalCases::Commit(const std::string& id, const std::string& token, uint64_t turn) {
  const grpc::Status status = Ask(&Stub::CommitTurn, CommitRequest(id, token, turn, "x"));
  EXPECT_TRUE(status.ok()) << status.error_message();
}

void RefusalCases::All() {
  Identity();
  State();
  Leases();
  Sizes();
  Capabilities();
  Fields();
  Slots();
  History();
  Secrets();
}

void RefusalCases::Identity() {
  Create("here");
  Refused("resume what another store stamped", "here", [&] {
    pb::ResumeSessionRequest request = ResumeRequest("here");
    request.set_expected_store_id(kOtherStore);
    return Ask(&Stub::ResumeSession, request);
  });
  Refused("an unknown id", "", [&] { return AskGet("absent"); });
  Refused("the latest of a project without sessions", "", [&] {
    pb::LookupLatestSessionRequest request;
    request.set_project_root("/elsewhere");
    return Ask(&Stub::LookupLatestSession, request);
  });
  Refused("create what exists", "here",
          [&] { return Ask(&Stub::CreateSession, CreateRequest("here")); });
  const std::string token = Create("deleted");
  pb::DeleteSessionRequest remove;
  remove.set_request_id(NewRequestId());
  remove.set_session_id("deleted");
  remove.set_lease_token(token);
  EXPECT_TRUE(Ask(&Stub::DeleteSession, remove).ok());
  Refused("a deleted session", "", [&] { return AskGet("deleted"); });
  const std::string kept = Create("reused");
  pb::BeginTurnRequest begin = BeginRequest("reused", kept);
  EXPECT_TRUE(AskBegin(begin).ok());
  Refused("a request id with another meaning", "reused", [&] {
    begin.set_source(pb::TURN_SOURCE_PLAN);
    return AskBegin(begin);
  });
}

void RefusalCases::State() {
  const std::string token = Create("state");
  Refused("commit without a turn", "state",
          [&] { return Ask(&Stub::CommitTurn, CommitRequest("state", token, 1, "x")); });
  Begin("state", token);
  Refused("a second turn", "state", [&] { return AskBegin(BeginRequest("state", token)); });
  Refused("commit of another turn", "state",
          [&] { return Ask(&Stub::CommitTurn, CommitRequest("state", token, 7, "x")); });
  Commit("state", token, 1);
  Refused("an old revision", "state", [&] {
    pb::BeginTurnRequest request = BeginRequest("state", token);
    request.set_expected_revision(1);
    return AskBegin(request);
  });
  Refused("a revision of the future", "state", [&] {
    pb::BeginTurnRequest request = BeginRequest("state", token);
    request.set_expected_revision(99);
    return AskBegin(request);
  });
  Refused("a gap in the journal", "state", [&] {
    pb::AppendJournalRequest request;
    request.set_session_id("state");
    request.set_lease_token(token);
    pb::JournalEntry& entry = *request.add_entries();
    entry.set_number(5);
    entry.set_kind(pb::JOURNAL_KIND_NOTE);
    return Ask(&Stub::AppendJournal, request);
  });
}

void RefusalCases::Cancels() {
  const auto cancel = [&](pb::CancelScope scope, uint64_t turn, const std::string& name) {
    return Ask(&Stub::CancelSession, SessionCancelRequest("cancel", scope, turn, name));
  };
  const std::string token = Create("cancel");
  Refused("a cancel request of nothing", "cancel",
          [&] { return cancel(pb::CANCEL_SCOPE_UNSPECIFIED, 0, ""); });
  Refused("a cancel request of a turn without its number", "cancel",
          [&] { return cancel(pb::CANCEL_SCOPE_TURN, 0, ""); });
  Refused("a cancel request of the session with a turn", "cancel",
          [&] { return cancel(pb::CANCEL_SCOPE_SESSION, 1, ""); });
  Refused("a cancel request of a tool without its name", "cancel",
          [&] { return cancel(pb::CANCEL_SCOPE_TOOL, 1, ""); });
  Refused("a cancel request of a turn with a name", "cancel",
          [&] { return cancel(pb::CANCEL_SCOPE_TURN, 1, "tool"); });
  Refused("a cancel request of a turn that is not active", "cancel",
          [&] { return cancel(pb::CANCEL_SCOPE_TURN, 1, ""); });
  Begin("cancel", token);
  for (size_t i = 0; i < kInformingCancelRequests; ++i) {
    EXPECT_TRUE(cancel(pb::CANCEL_SCOPE_TOOL, 1, "tool-" + std::to_string(i)).ok());
  }
  Refused("one cancel request of a tool too many", "cancel",
          [&] { return cancel(pb::CANCEL_SCOPE_TOOL, 1, "tool"); });
  EXPECT_TRUE(cancel(pb::CANCEL_SCOPE_SESSION, 0, "").ok());
  Refused("a turn behind one of a session that is being cancelled", "cancel", [&] {
    pb::CommitTurnRequest request = CommitRequest("cancel", token, 1, "x");
    request.mutable_begin_next()->set_source(pb::TURN_SOURCE_USER);
    return Ask(&Stub::CommitTurn, request);
  });
  Refused("a close that would wait too long", "cancel", [&] {
    pb::CloseSessionRequest request = CloseRequest("cancel", token);
    request.mutable_drain()->set_seconds(31);
    return Ask(&Stub::CloseSession, request);
  });
  Refused("an audit record of the store's own class", "cancel", [&] {
    pb::AppendAuditRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id("cancel");
    request.set_audit_class("Turn");
    return Ask(&Stub::AppendAudit, request);
  });
  Commit("cancel", token, 1);
  Refused("a cancel request of a closed session", "cancel",
          [&] { return cancel(pb::CANCEL_SCOPE_SESSION, 0, ""); });
}

void RefusalCases::Leases() {
  const std::string token = Create("lease");
  Refused("no token", "lease", [&] { return AskBegin(BeginRequest("lease", "")); });
  Refused("the lease of another holder", "lease",
          [&] { return Ask(&Stub::ResumeSession, ResumeRequest("lease")); });
  pb::ResumeSessionRequest force = ResumeRequest("lease");
  force.mutable_force()->set_reason("taken over");
  EXPECT_TRUE(Ask(&Stub::ResumeSession, force).ok());
  Refused("the token of an earlier grant", "lease",
          [&] { return AskBegin(BeginRequest("lease", token)); });
}

void RefusalCases::Capabilities() {
  grpc::ClientContext context;
  pb::EchoResponse unused;
  Note("a method that is not offered", admin_.Echo(&context, {}, &unused));
}

void RefusalCases::Sizes() {
  grpc::ClientContext large_context;
  pb::EchoRequest large;
  large.set_payload(std::string(kUnaryRequestBytes, 'x'));
  pb::EchoResponse unused;
  Note("a request over the limit", admin_.Echo(&large_context, large, &unused));
  grpc::ClientContext metadata_context;
  metadata_context.AddMetadata("much", std::string(kMetadataBytes, 'x'));
  Note("metadata over the limit", admin_.Echo(&metadata_context, {}, &unused));
  Refused("a holder's name over the limit", "", [&] {
    pb::CreateSessionRequest request = CreateRequest("long");
    request.set_holder(std::string(kHolderBytes + 1, 'x'));
    return Ask(&Stub::CreateSession, request);
  });
}

void RefusalCases::Fields() {
  const auto create = [&](const std::string& name, auto&& change) {
    Refused(name, "", [&] {
      pb::CreateSessionRequest request = CreateRequest("field");
      change(request);
      return Ask(&Stub::CreateSession, request);
    });
  };
  create("a session id that is none", [](auto& request) { request.set_session_id("a/b"); });
  create("no request id", [](auto& request) { request.clear_request_id(); });
  create("no manifest", [](auto& request) { request.clear_manifest(); });
  create("no mode", [](auto& request) { request.mutable_manifest()->clear_mode(); });
  create("a mode of a later version",
         [](auto& request) { request.mutable_manifest()->set_mode(static_cast<pb::Mode>(77)); });
  create("a manifest with a field of a later version", [](auto& request) {
    pb::Manifest& manifest = *request.mutable_manifest();
    manifest.GetReflection()->MutableUnknownFields(&manifest)->AddVarint(99, 1);
  });
  create("a message with a number", [](auto& request) { request.add_messages()->set_seq(3); });
  create("a lease that is too short",
         [](auto& request) { request.mutable_lease_ttl()->set_seconds(1); });
  create("a duration that is none",
         [](auto& request) { request.mutable_lease_ttl()->set_nanos(2'000'000'000); });
  create("a slot without a version", [](auto& request) {
    request.add_slots()->set_owner("memory");
    request.mutable_slots(0)->set_drift_policy(pb::DRIFT_POLICY_WARN);
  });
  Create("field");
  Refused("a lease token that is none", "field",
          [&] { return AskBegin(BeginRequest("field", "hf1.made-up")); });
  Refused("a turn without a source", "field", [&] {
    pb::BeginTurnRequest request = BeginRequest("field", "");
    request.clear_source();
    return AskBegin(request);
  });
  Refused("force without a reason", "field", [&] {
    pb::ResumeSessionRequest request = ResumeRequest("field");
    request.mutable_force();
    return Ask(&Stub::ResumeSession, request);
  });
  Refused("an update of what never changes", "field", [&] {
    pb::UpdateSessionRequest request;
    request.set_request_id(NewRequestId());
    request.mutable_session()->set_session_id("field");
    request.mutable_update_mask()->add_paths("manifest.mode");
    return Ask(&Stub::UpdateSession, request);
  });
  Refused("an update of nothing", "field", [&] {
    pb::UpdateSessionRequest request;
    request.set_request_id(NewRequestId());
    request.mutable_session()->set_session_id("field");
    return Ask(&Stub::UpdateSession, request);
  });
  Refused("a checkpoint that is not there", "field", [&] {
    pb::DeleteCheckpointRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id("field");
    request.set_name("none");
    return Ask(&Stub::DeleteCheckpoint, request);
  });
  Refused("a checkpoint without a name or a revision", "field", [&] {
    pb::DeleteCheckpointRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id("field");
    return Ask(&Stub::DeleteCheckpoint, request);
  });
  Refused("a page of a negative size", "", [&] {
    pb::ListSessionsRequest request;
    request.set_page_size(-1);
    return Ask(&Stub::ListSessions, request);
  });
  Refused("a page token that is none", "", [&] {
    pb::ListSessionsRequest request;
    request.set_page_token("abc");
    return Ask(&Stub::ListSessions, request);
  });
  Refused("the outcome of a method that is none", "field", [&] {
    pb::GetRequestOutcomeRequest request;
    request.set_request_id(NewRequestId());
    request.set_session_id("field");
    request.set_method(static_cast<pb::Method>(99));
    return Ask(&Stub::GetRequestOutcome, request);
  });
}

void RefusalCases::Slots() {
  pb::CreateSessionRequest create = CreateRequest("slots");
  pb::Slot& slot = *create.add_slots();
  slot.set_owner("memory");
  slot.set_version("1.0.0");
  slot.set_drift_policy(pb::DRIFT_POLICY_REJECT);
  pb::CreateSessionResponse created;
  EXPECT_TRUE(Ask(&Stub::CreateSession, create, &created).ok());
  pb::ListSlotsRequest read;
  read.set_session_id("slots");
  read.add_owners("memory");
  Refused("a slot of a version the reader rejects", "slots", [&] {
    pb::ListSlotsRequest request = read;
    pb::ExpectedSlot& expected = *request.add_expected_slots();
    expected.set_owner("memory");
    expected.set_version("2.0.0");
    expected.set_drift_policy(pb::DRIFT_POLICY_REJECT);
    return Ask(&Stub::ListSlots, request);
  });
  Refused("a slot of another owner", "slots", [&] {
    pb::ListSlotsRequest request = read;
    request.set_acting_owner("tools");
    return Ask(&Stub::ListSlots, request);
  });
}

void RefusalCases::Secrets() {
  const std::string token = Create("secrets");
  Begin("secrets", token);
  Refused("secrets in a slot and a message", "secrets", [&] {
    pb::CommitTurnRequest request = CommitRequest("secrets", token, 1, "the key: sk-test-abcdefgh");
    pb::Slot& slot = *request.add_slots();
    slot.set_owner("memory");
    slot.set_version("1.0.0");
    slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
    slot.set_data("sk-test-ijklmnop");
    return Ask(&Stub::CommitTurn, request);
  });
  Refused("a reference to a secret without a name", "secrets", [&] {
    pb::AppendJournalRequest request = AppendRequest("secrets", token, 1, 1);
    request.mutable_entries(0)->set_data(R"({"token": {"kind": "env"}})");
    return Ask(&Stub::AppendJournal, request);
  });
}

void RefusalCases::History() {
  const std::string token = Create("old");
  for (uint64_t turn = 1; turn <= kSnapshotsKeptDefault + 1; ++turn) {
    Begin("old", token);
    Commit("old", token, turn);
  }
  Refused("a revision that is no longer kept", "old", [&] {
    pb::ListMessagesRequest request;
    request.set_session_id("old");
    request.set_revision(1);
    return Ask(&Stub::ListMessages, request);
  });
}

}  // namespace holdfast::test
