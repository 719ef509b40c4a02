#include "bench/agent.h"

#include "bench/open_session.h"
#include "platform/status_macros.h"

#include <numeric>
#include <utility>

namespace holdfast::bench {
namespace {

// Longer than any run, so that no lease ends in it.
constexpr int64_t kLeaseSeconds = 3600;

}  // namespace

size_t CommitShape::Bytes() const {
  return std::accumulate(slots.begin(), slots.end(), messages * message_bytes);
}

v1::CreateSessionRequest NewSession(const std::string& id, FreshBytes& fresh) {
  v1::CreateSessionRequest request;
  request.set_request_id(fresh.Uuid());
  request.set_session_id(id);
  request.mutable_manifest()->set_mode(v1::MODE_ASK);
  request.mutable_manifest()->set_project_root("/bench");
  request.set_holder("bench");
  request.mutable_lease_ttl()->set_seconds(kLeaseSeconds);
  return request;
}

Agent::Agent(Served& served, std::string id, CommitShape shape)
    : served_(served), id_(std::move(id)), shape_(std::move(shape)) {}

absl::StatusOr<std::unique_ptr<Agent>> Agent::Make(Served& served, std::string id,
                                                   CommitShape shape) {
  auto agent = std::make_unique<Agent>(served, std::move(id), std::move(shape));
  RETURN_IF_ERROR(agent->Create());
  RETURN_IF_ERROR(agent->Begin());
  return agent;
}

absl::Status Agent::Create() {
  grpc::ClientContext context;
  v1::CreateSessionResponse response;
  const grpc::Status status =
      served_.sessions().CreateSession(&context, NewSession(id_, fresh_), &response);
  if (!status.ok()) return FailedCall("CreateSession", status);
  token_ = response.lease_token();
  revision_ = response.session().revision();
  return absl::OkStatus();
}

absl::Status Agent::Begin() {
  v1::BeginTurnRequest request;
  request.set_request_id(fresh_.Uuid());
  request.set_session_id(id_);
  request.set_lease_token(token_);
  request.set_source(v1::TURN_SOURCE_USER);
  grpc::ClientContext context;
  v1::BeginTurnResponse response;
  const grpc::Status status = served_.sessions().BeginTurn(&context, request, &response);
  if (!status.ok()) return FailedCall("BeginTurn", status);
  turn_ = response.turn();
  revision_ = response.revision();
  return absl::OkStatus();
}

void Agent::Fill() {
  request_.Clear();
  request_.set_request_id(fresh_.Uuid());
  request_.set_session_id(id_);
  request_.set_lease_token(token_);
  request_.set_turn(turn_);
  request_.set_expected_revision(revision_);
  request_.set_outcome(v1::TURN_OUTCOME_OK);
  for (size_t at = 0; at < shape_.messages; ++at) {
    v1::Message& message = *request_.add_messages();
    message.set_role(at % 2 == 0 ? "user" : "assistant");
    message.set_data(fresh_.Take(shape_.message_bytes));
  }
  for (size_t at = 0; at < shape_.slots.size(); ++at) {
    v1::Slot& slot = *request_.add_slots();
    slot.set_owner("extension-" + std::to_string(at));
    slot.set_version("1.0.0");
    slot.set_drift_policy(v1::DRIFT_POLICY_WARN);
    slot.set_data(fresh_.Take(shape_.slots[at]));
  }
  request_.mutable_begin_next()->set_source(v1::TURN_SOURCE_USER);
}

void Agent::Start(grpc::CompletionQueue& queue, void* tag) {
  Fill();
  call_.Start(queue, tag, [this](auto* context, auto* by) {
    return served_.sessions().AsyncCommitTurn(context, request_, by);
  });
}

absl::Status Agent::End() {
  if (!call_.status().ok()) return FailedCall("CommitTurn", call_.status());
  turn_ = call_.response().next_turn();
  revision_ = call_.response().revision();
  ++commits_;
  return absl::OkStatus();
}

absl::Status Agent::Close() {
  v1::CloseSessionRequest request;
  request.set_request_id(fresh_.Uuid());
  request.set_session_id(id_);
  request.set_lease_token(token_);
  grpc::ClientContext context;
  v1::CloseSessionResponse response;
  const grpc::Status status = served_.sessions().CloseSession(&context, request, &response);
  return status.ok() ? absl::OkStatus() : FailedCall("CloseSession", status);
}

absl::Status Agent::Count() {
  ASSIGN_OR_RETURN(const v1::Session session, GetSession(served_, id_));
  const uint64_t found = session.message_count();
  if (found == commits_ * shape_.messages) return absl::OkStatus();
  return absl::FailedPreconditionError("session " + id_ + " holds " + std::to_string(found) +
                                       " messages after " + std::to_string(commits_) +
                                       " acknowledged commits");
}

absl::StatusOr<std::vector<std::unique_ptr<Agent>>> MakeAgents(Served& served,
                                                               const std::string& prefix,
                                                               size_t count) {
  std::vector<std::unique_ptr<Agent>> agents;
  for (size_t number = 1; number <= count; ++number) {
    ASSIGN_OR_RETURN(auto agent,
                     Agent::Make(served, prefix + "-" + std::to_string(number), CommitShape()));
    agents.push_back(std::move(agent));
  }
  return agents;
}

}  // namespace holdfast::bench
