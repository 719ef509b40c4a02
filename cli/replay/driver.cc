#include "cli/replay/driver.h"

#include "cli/errors.h"
#include "cli/request_id.h"

#include "absl/strings/str_cat.h"

#include <utility>

namespace holdfast::cli {
namespace {

constexpr int kMostTakeOvers = 5;
constexpr char kHolder[] = "holdfast replay";
constexpr char kContentType[] = "application/json";

bool LostLease(const grpc::Status& status) {
  return IsRefusedFor(status, "FENCED") || IsRefusedFor(status, "LEASE_REQUIRED");
}

// The journal's entries for `message`: its tool calls, or the tool's result that it is.
std::vector<v1::JournalEntry> EntriesOf(const RecordedMessage& message) {
  std::vector<v1::JournalEntry> entries;
  for (const RecordedToolCall& call : message.tool_calls) {
    v1::JournalEntry& entry = entries.emplace_back();
    entry.set_kind(v1::JOURNAL_KIND_TOOL_INTENT);
    entry.set_ref(call.id);
    entry.set_data(call.text);
  }
  if (message.role == "tool") {
    v1::JournalEntry& entry = entries.emplace_back();
    entry.set_kind(v1::JOURNAL_KIND_TOOL_OUTCOME);
    entry.set_ref(message.tool_call_id);
    entry.set_data(message.text);
  }
  return entries;
}

}  // namespace

grpc::Status SessionDriver::Run() {
  grpc::Status status = Open();
  while (status.ok()) {
    status = DriveTurns();
    if (status.ok()) {
      Release();
      ++parts_.tally.sessions;
      return status;
    }
    if (!LostLease(status) || ++take_overs_ > kMostTakeOvers) return status;
    status = TakeUp();
  }
  return status;
}

grpc::Status SessionDriver::Open() {
  grpc::Status status = Create();
  if (!IsRefusedFor(status, "SESSION_EXISTS")) return status;
  // A replay of this run was here before and did not come to its end.
  grpc::Status taken = TakeUp();
  if (!taken.ok()) return taken;
  const size_t recorded = task_.conversation->messages.size();
  if (committed_ > recorded) {
    return {grpc::StatusCode::FAILED_PRECONDITION,
            absl::StrCat("the session holds ", committed_, " messages and the recording ", recorded,
                         ": it is not this conversation's")};
  }
  for (const TurnSpan& turn : SplitTurns(task_.conversation->messages)) {
    if (turn.end <= committed_) ++parts_.tally.turns;
  }
  parts_.tally.messages += committed_;
  return grpc::Status::OK;
}

grpc::Status SessionDriver::Create() {
  v1::CreateSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(task_.session_id);
  request.set_holder(kHolder);
  request.mutable_manifest()->set_mode(v1::MODE_ASK);
  request.mutable_manifest()->set_project_root(task_.conversation->project_root);
  (*request.mutable_attributes())["title"] = "Replay of " + task_.conversation->id;
  (*request.mutable_attributes())["run"] = parts_.run;
  v1::CreateSessionResponse reply;
  const CallNote note = Note("CreateSession", request.request_id());
  grpc::Status status = parts_.mutations.Send(&Sessions::CreateSession, note, request, reply);
  if (!status.ok()) return status;
  token_ = reply.lease_token();
  Adopt(reply.session());
  return status;
}

grpc::Status SessionDriver::TakeUp() {
  grpc::Status status = Resume(false);
  // The session is this replay's own: another live lease is of an earlier run.
  if (IsRefusedFor(status, "LEASE_HELD") || LostLease(status)) status = Resume(true);
  return status;
}

grpc::Status SessionDriver::Resume(bool forced) {
  v1::ResumeSessionRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(task_.session_id);
  request.set_holder(kHolder);
  request.set_expected_store_id(store_id_);
  request.set_known_revision(revision_);
  if (forced) {
    request.mutable_force()->set_reason("the replay goes on with its own session");
  } else {
    request.set_lease_token(token_);
  }
  v1::ResumeSessionResponse reply;
  const CallNote note = Note("ResumeSession", request.request_id());
  grpc::Status status = parts_.mutations.Send(&Sessions::ResumeSession, note, request, reply);
  if (!status.ok()) return status;
  token_ = reply.lease_token();
  Adopt(reply.session());
  return status;
}

void SessionDriver::Adopt(const v1::Session& session) {
  store_id_ = session.store_id();
  revision_ = session.revision();
  committed_ = session.message_count();
}

grpc::Status SessionDriver::DriveTurns() {
  for (const TurnSpan& turn : SplitTurns(task_.conversation->messages, committed_)) {
    if (committed_ > 0 && parts_.pace > absl::ZeroDuration()) parts_.clock.Sleep(parts_.pace);
    grpc::Status status = DriveTurn(turn);
    if (!status.ok()) return status;
    take_overs_ = 0;
    ++parts_.tally.turns;
    parts_.tally.messages += turn.end - turn.begin;
    parts_.after_turn();
  }
  return grpc::Status::OK;
}

grpc::Status SessionDriver::DriveTurn(const TurnSpan& turn) {
  grpc::Status status = Begin();
  for (size_t i = turn.begin; status.ok() && i < turn.end; ++i) {
    status = AppendJournal(task_.conversation->messages[i]);
  }
  return status.ok() ? Commit(turn) : status;
}

grpc::Status SessionDriver::Begin() {
  v1::BeginTurnRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(task_.session_id);
  request.set_lease_token(token_);
  request.set_expected_revision(revision_);
  request.set_source(v1::TURN_SOURCE_USER);
  v1::BeginTurnResponse reply;
  const CallNote note = Note("BeginTurn", request.request_id());
  grpc::Status status = parts_.mutations.Send(&Sessions::BeginTurn, note, request, reply);
  if (!status.ok()) return status;
  revision_ = reply.revision();
  turn_ = reply.turn();
  last_entry_ = 0;
  return status;
}

grpc::Status SessionDriver::AppendJournal(const RecordedMessage& message) {
  std::vector<v1::JournalEntry> entries = EntriesOf(message);
  if (entries.empty()) return grpc::Status::OK;
  v1::AppendJournalRequest request;
  request.set_session_id(task_.session_id);
  request.set_lease_token(token_);
  uint64_t number = last_entry_;
  for (v1::JournalEntry& entry : entries) {
    entry.set_turn(turn_);
    entry.set_number(++number);
    *request.add_entries() = std::move(entry);
  }
  v1::AppendJournalResponse reply;
  const CallNote note = Note("AppendJournal", "");
  grpc::Status status = parts_.mutations.Send(&Sessions::AppendJournal, note, request, reply);
  if (status.ok()) last_entry_ = number;
  return status;
}

grpc::Status SessionDriver::Commit(const TurnSpan& span) {
  v1::CommitTurnRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(task_.session_id);
  request.set_lease_token(token_);
  request.set_turn(turn_);
  request.set_expected_revision(revision_);
  request.set_last_entry(last_entry_);
  request.set_outcome(v1::TURN_OUTCOME_OK);
  for (size_t i = span.begin; i < span.end; ++i) {
    const RecordedMessage& recorded = task_.conversation->messages[i];
    v1::Message& message = *request.add_messages();
    message.set_role(recorded.role);
    message.set_content_type(kContentType);
    message.set_data(recorded.text);
  }
  v1::CommitTurnResponse reply;
  const CallNote note = Note("CommitTurn", request.request_id());
  grpc::Status status = parts_.mutations.Send(&Sessions::CommitTurn, note, request, reply);
  if (!status.ok()) return status;
  revision_ = reply.revision();
  committed_ = span.end;
  return status;
}

// Then the next holder need not wait until the lease expires. The conversation
// is committed whether this succeeds or not.
void SessionDriver::Release() {
  v1::ReleaseLeaseRequest request;
  request.set_request_id(NewRequestId());
  request.set_session_id(task_.session_id);
  request.set_lease_token(token_);
  v1::ReleaseLeaseResponse reply;
  const CallNote note = Note("ReleaseLease", request.request_id());
  (void)parts_.mutations.Send(&Sessions::ReleaseLease, note, request, reply);
}

CallNote SessionDriver::Note(const std::string& call, const std::string& request_id) const {
  return {
      .session = task_.session_id, .call = call, .request_id = request_id, .revision = revision_};
}

}  // namespace holdfast::cli
