#include "tests/support/requests.h"

#include "platform/clock.h"
#include "session/ids.h"

namespace holdfast::test {
namespace {

// Returns a request with the fields that every mutation under a lease has.
template <typename Request>
Request Held(const std::string& id, const std::string& token) {
  Request request;
  request.set_request_id(NewRequestId());
  request.set_session_id(id);
  request.set_lease_token(token);
  return request;
}

}  // namespace

std::string NewRequestId() { return UuidText(SystemRandom().Bytes(16), 4); }

pb::CreateSessionRequest CreateRequest(const std::string& id) {
  pb::CreateSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(id);
  request.mutable_manifest()->set_mode(pb::MODE_ASK);
  request.mutable_manifest()->set_project_root("/project");
  request.set_holder("agent");
  return request;
}

pb::BeginTurnRequest BeginRequest(const std::string& id, const std::string& token) {
  auto request = Held<pb::BeginTurnRequest>(id, token);
  request.set_source(pb::TURN_SOURCE_USER);
  return request;
}

pb::AppendJournalRequest AppendRequest(const std::string& id, const std::string& token,
                                       uint64_t turn, uint64_t number) {
  pb::AppendJournalRequest request;
  request.set_session_id(id);
  request.set_lease_token(token);
  pb::JournalEntry& entry = *request.add_entries();
  entry.set_turn(turn);
  entry.set_number(number);
  entry.set_kind(pb::JOURNAL_KIND_NOTE);
  entry.set_data("noted");
  return request;
}

pb::CommitTurnRequest CommitRequest(const std::string& id, const std::string& token, uint64_t turn,
                                    const std::string& text) {
  auto request = Held<pb::CommitTurnRequest>(id, token);
  request.set_turn(turn);
  request.set_outcome(pb::TURN_OUTCOME_OK);
  pb::Message& message = *request.add_messages();
  message.set_role("user");
  message.set_data(text);
  return request;
}

pb::AbandonTurnRequest AbandonRequest(const std::string& id, const std::string& token,
                                      uint64_t turn) {
  auto request = Held<pb::AbandonTurnRequest>(id, token);
  request.set_turn(turn);
  return request;
}

pb::ResumeSessionRequest ResumeRequest(const std::string& id) {
  pb::ResumeSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(id);
  request.set_holder("other");
  return request;
}

pb::ResumeSessionRequest ForceRequest(const std::string& id) {
  pb::ResumeSessionRequest request = ResumeRequest(id);
  request.mutable_force()->set_reason("its holder is gone");
  return request;
}

pb::ReleaseLeaseRequest ReleaseRequest(const std::string& id, const std::string& token) {
  return Held<pb::ReleaseLeaseRequest>(id, token);
}

pb::RenewLeasesRequest RenewLeaseRequest(const std::string& id, const std::string& token) {
  pb::RenewLeasesRequest request;
  pb::LeaseRenewal& lease = *request.add_leases();
  lease.set_session_id(id);
  lease.set_lease_token(token);
  return request;
}

pb::CloseSessionRequest CloseRequest(const std::string& id, const std::string& token) {
  return Held<pb::CloseSessionRequest>(id, token);
}

pb::CancelSessionRequest SessionCancelRequest(const std::string& id, pb::CancelScope scope,
                                              uint64_t turn, const std::string& name) {
  pb::CancelSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(id);
  request.set_scope(scope);
  request.set_reason(pb::CANCEL_REASON_USER);
  request.set_turn(turn);
  request.set_name(name);
  return request;
}

pb::DeleteSessionRequest DeleteRequest(const std::string& id, const std::string& token) {
  return Held<pb::DeleteSessionRequest>(id, token);
}

}  // namespace holdfast::test
