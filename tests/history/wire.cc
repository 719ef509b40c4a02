#include "tests/history/wire.h"

#include "session/token.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <array>
#include <cstring>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <initializer_list>

namespace holdfast::history {
namespace {

constexpr uint32_t kPage = 1000;  // the most that one page holds
constexpr size_t kPadding = 200;  // bytes of each message beside its name

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  constexpr int kReconnectMs = 20;
  constexpr int kReconnectMostMs = 100;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMostMs);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::string MessageOf(const Uuid& request, size_t index) {
  std::string text = absl::StrCat(ToText(request), " ", index, " ");
  return text.append(kPadding, static_cast<char>('a' + request.low % 26));
}

// Returns a number that identifies a token's text.
uint64_t TagOf(const std::string& token) {
  if (token.empty()) return 0;
  uint64_t tag = 0;
  const Digest digest = Sha256(token);
  std::memcpy(&tag, digest.data(), sizeof(tag));
  return tag;
}

Lifecycle FromWire(pb::Lifecycle lifecycle) {
  switch (lifecycle) {
    case pb::LIFECYCLE_ACTIVE:
      return Lifecycle::kActive;
    case pb::LIFECYCLE_PERSISTED:
      return Lifecycle::kPersisted;
    case pb::LIFECYCLE_RESUMED:
      return Lifecycle::kResumed;
    case pb::LIFECYCLE_CLOSED:
      return Lifecycle::kClosed;
    default:
      return Lifecycle::kIdle;
  }
}

void TakeHead(const pb::Session& session, Answered& answered) {
  answered.revision = session.revision();
  answered.epoch = session.lease().epoch();
  answered.held = session.lease().state() != pb::LEASE_STATE_FREE;
  answered.lifecycle = FromWire(session.lifecycle());
  answered.turn = session.turn().number();
  answered.last_turn = session.last_turn();
  answered.messages = session.message_count();
  answered.digest = DigestFrom(session.history_digest());
}

Cause CauseFrom(const std::string& reason) {
  for (int i = 0; i < static_cast<int>(Cause::kNoEffect); ++i) {
    if (Name(static_cast<Cause>(i)) == reason) return static_cast<Cause>(i);
  }
  const bool later = reason == "OVERLOADED" || reason == "STORAGE_FULL" || reason == "QUOTA";
  return later ? Cause::kNoEffect : Cause::kOther;
}

// How a call ended that was not answered with OK.
void TakeStatus(const grpc::Status& status, Answered& answered) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  details.ParseFromString(status.error_details());
  for (const auto& detail : details.details()) detail.UnpackTo(&info);
  const auto fate = info.metadata().find("outcome");
  if (fate != info.metadata().end()) {
    const bool known = fate->second == "known";
    answered.outcome = known ? Outcome::kRefused : Outcome::kUnknown;
    answered.cause = known ? Cause::kNoEffect : Cause::kNone;
    return;
  }
  const bool by_transport = info.reason().empty();
  const bool open = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                    status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
                    status.error_code() == grpc::StatusCode::CANCELLED;
  if (open && (by_transport || info.reason() == "SNAPSHOT_FAILED")) return;
  answered.outcome = Outcome::kRefused;
  answered.cause = by_transport ? Cause::kOther : CauseFrom(info.reason());
}

// The status of one lease's answer, as that of a call.
grpc::Status StatusOf(const google::rpc::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), status.message(),
          status.SerializeAsString()};
}

// The revision that a grant left. A repeat shows the session as it is now, which may have moved on.
uint64_t RevisionOf(const pb::CreateSessionResponse& reply) {
  return reply.repeated() ? 1 : reply.session().revision();
}
uint64_t RevisionOf(const pb::ResumeSessionResponse& reply) {
  return reply.repeated() ? reply.report().restored_revision() + 1 : reply.session().revision();
}

}  // namespace

Wire::Wire(const std::vector<std::string>& addresses, std::string prefix, size_t first)
    : prefix_(std::move(prefix)), server_(first % addresses.size()) {
  for (const std::string& address : addresses) {
    servers_.push_back(pb::SessionService::NewStub(Connect(address)));
  }
}

void Wire::Fill(Asked& asked) {
  for (size_t i = 0; i < asked.items.size(); ++i) {
    asked.items[i] = Sha256(MessageOf(asked.request, i));
  }
}

Answered Wire::Send(const Asked& asked) {
  Answered answered;
  const grpc::Status status = Dispatch(asked, answered);
  if (status.ok()) {
    answered.outcome = Outcome::kOk;
  } else {
    answered = {};
    TakeStatus(status, answered);
  }
  return answered;
}

std::string Wire::IdOf(uint32_t session) const { return absl::StrCat(prefix_, "-", session); }

std::string Wire::TokenOf(const Asked& asked) const {
  const auto found = tokens_.find({asked.session, asked.epoch});
  return found == tokens_.end() ? "" : found->second;
}

// As long as another server may be up a call fails at once; when none was, it waits for one.
grpc::Status Wire::Ask(Call call) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  context.set_wait_for_ready(failed_in_a_row_ >= servers_.size());
  const grpc::Status status = call(*servers_[server_], context);
  const bool failed = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                      status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  failed_in_a_row_ = failed ? failed_in_a_row_ + 1 : 0;
  if (failed) Move();
  return status;
}

template <typename Request>
Request Wire::Held(const Asked& asked) const {
  Request request;
  request.set_session_id(IdOf(asked.session));
  request.set_lease_token(TokenOf(asked));
  if constexpr (requires { request.set_request_id(""); }) {
    request.set_request_id(ToText(asked.request));
  }
  if constexpr (requires { request.set_expected_revision(0); }) {
    request.set_expected_revision(asked.expected_revision);
  }
  if constexpr (requires { request.set_turn(0); }) request.set_turn(asked.turn);
  return request;
}

template <typename Reply>
void Wire::Granted(const Asked& asked, const Reply& reply, Answered& answered) {
  answered.revision = RevisionOf(reply);
  answered.repeated = reply.repeated();
  answered.token = TagOf(reply.lease_token());
  const auto token = LeaseToken::Parse(reply.lease_token());
  if (!token) return;
  answered.epoch = token->epoch.value();
  tokens_[{asked.session, answered.epoch}] = reply.lease_token();
}

grpc::Status Wire::SendCreate(const Asked& asked, Answered& answered) {
  pb::CreateSessionRequest request;
  request.set_request_id(ToText(asked.request));
  request.set_session_id(IdOf(asked.session));
  request.mutable_manifest()->set_mode(pb::MODE_ASK);
  request.mutable_manifest()->set_project_root("/project");
  request.set_holder("traffic");
  request.mutable_lease_ttl()->set_seconds(absl::ToInt64Seconds(absl::Nanoseconds(asked.ttl_ns)));
  pb::CreateSessionResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.CreateSession(&context, request, &reply);
  });
  Granted(asked, reply, answered);
  return status;
}

grpc::Status Wire::SendResume(const Asked& asked, Answered& answered) {
  auto request = Held<pb::ResumeSessionRequest>(asked);
  request.set_holder("traffic");
  request.mutable_lease_ttl()->set_seconds(absl::ToInt64Seconds(absl::Nanoseconds(asked.ttl_ns)));
  if (asked.force) request.mutable_force()->set_reason("leases move");
  pb::ResumeSessionResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.ResumeSession(&context, request, &reply);
  });
  Granted(asked, reply, answered);
  answered.before = reply.report().restored_revision();
  answered.abandoned_turn = reply.report().abandoned_turn();
  answered.entry = reply.report().entries_after_snapshot();
  return status;
}

grpc::Status Wire::SendBegin(const Asked& asked, Answered& answered) {
  auto request = Held<pb::BeginTurnRequest>(asked);
  request.set_source(pb::TURN_SOURCE_USER);
  pb::BeginTurnResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.BeginTurn(&context, request, &reply);
  });
  answered.revision = reply.revision();
  answered.turn = reply.turn();
  answered.repeated = reply.repeated();
  return status;
}

grpc::Status Wire::SendAppend(const Asked& asked, Answered& answered) {
  auto request = Held<pb::AppendJournalRequest>(asked);
  for (uint64_t number = asked.first_entry; number <= asked.last_entry; ++number) {
    pb::JournalEntry& entry = *request.add_entries();
    entry.set_turn(asked.turn);
    entry.set_number(number);
    entry.set_kind(pb::JOURNAL_KIND_NOTE);
    entry.set_data("noted");
  }
  pb::AppendJournalResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.AppendJournal(&context, request, &reply);
  });
  answered.revision = reply.revision();
  answered.entry = reply.last_entry();
  return status;
}

grpc::Status Wire::SendCommit(const Asked& asked, Answered& answered) {
  auto request = Held<pb::CommitTurnRequest>(asked);
  request.set_outcome(pb::TURN_OUTCOME_OK);
  if (asked.begin_next) request.mutable_begin_next()->set_source(pb::TURN_SOURCE_USER);
  for (size_t i = 0; i < asked.items.size(); ++i) {
    pb::Message& message = *request.add_messages();
    message.set_role(kRole);
    message.set_content_type(kContentType);
    message.set_data(MessageOf(asked.request, i));
  }
  pb::Slot& slot = *request.add_slots();
  slot.set_owner(kSlotOwner);
  slot.set_version("1.0.0");
  slot.set_drift_policy(pb::DRIFT_POLICY_WARN);
  slot.set_data(ToText(asked.request));
  pb::CommitTurnResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.CommitTurn(&context, request, &reply);
  });
  answered.revision = reply.revision();
  answered.turn = reply.next_turn();
  answered.messages = reply.message_count();
  answered.entry = reply.last_entry();
  answered.repeated = reply.repeated();
  return status;
}

grpc::Status Wire::SendAbandon(const Asked& asked, Answered& answered) {
  const auto request = Held<pb::AbandonTurnRequest>(asked);
  pb::AbandonTurnResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.AbandonTurn(&context, request, &reply);
  });
  answered.revision = reply.revision();
  answered.repeated = reply.repeated();
  return status;
}

grpc::Status Wire::SendRelease(const Asked& asked, Answered& answered) {
  const auto request = Held<pb::ReleaseLeaseRequest>(asked);
  pb::ReleaseLeaseResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.ReleaseLease(&context, request, &reply);
  });
  answered.revision = reply.revision();
  answered.repeated = reply.repeated();
  return status;
}

grpc::Status Wire::SendClose(const Asked& asked, Answered& answered) {
  const auto request = Held<pb::CloseSessionRequest>(asked);
  pb::CloseSessionResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.CloseSession(&context, request, &reply);
  });
  answered.revision = reply.revision();
  answered.abandoned_turn = reply.abandoned_turn();
  answered.repeated = reply.repeated();
  return status;
}

grpc::Status Wire::SendRenew(const Asked& asked, Answered& answered) {
  pb::RenewLeasesRequest request;
  pb::LeaseRenewal& lease = *request.add_leases();
  lease.set_session_id(IdOf(asked.session));
  lease.set_lease_token(TokenOf(asked));
  pb::RenewLeasesResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.RenewLeases(&context, request, &reply);
  });
  if (!status.ok()) return status;
  if (!reply.failures().empty()) return StatusOf(reply.failures(0).status());
  answered.revision = reply.renewed(0).revision();
  return status;
}

grpc::Status Wire::SendReadHead(const Asked& asked, Answered& answered) {
  pb::GetSessionRequest request;
  request.set_session_id(IdOf(asked.session));
  pb::GetSessionResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.GetSession(&context, request, &reply);
  });
  TakeHead(reply.session(), answered);
  return status;
}

grpc::Status Wire::SendReadMessages(const Asked& asked, Answered& answered) {
  auto& [last, digest] = read_[asked.session];
  pb::ListMessagesRequest request;
  request.set_session_id(IdOf(asked.session));
  request.set_after_seq(last);
  request.set_page_size(kPage);
  pb::ListMessagesResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.ListMessages(&context, request, &reply);
  });
  if (!status.ok()) return status;
  for (const pb::Message& message : reply.messages()) {
    digest = Extend(digest, Sha256(message.data()));
    last = message.seq();
  }
  answered.revision = reply.revision();
  answered.messages = last;
  answered.digest = digest;
  answered.complete = reply.next_page_token().empty();
  return status;
}

grpc::Status Wire::SendReadSlot(const Asked& asked, Answered& answered) {
  pb::ListSlotsRequest request;
  request.set_session_id(IdOf(asked.session));
  request.add_owners(kSlotOwner);
  pb::ListSlotsResponse reply;
  const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
    return stub.ListSlots(&context, request, &reply);
  });
  answered.revision = reply.revision();
  if (!reply.slots().empty()) answered.slot = UuidFrom(reply.slots(0).data());
  return status;
}

grpc::Status Wire::Dispatch(const Asked& asked, Answered& answered) {
  switch (asked.method) {
    case Method::kCreate:
      return SendCreate(asked, answered);
    case Method::kResume:
      return SendResume(asked, answered);
    case Method::kBegin:
      return SendBegin(asked, answered);
    case Method::kAppend:
      return SendAppend(asked, answered);
    case Method::kCommit:
      return SendCommit(asked, answered);
    case Method::kAbandon:
      return SendAbandon(asked, answered);
    case Method::kRelease:
      return SendRelease(asked, answered);
    case Method::kClose:
      return SendClose(asked, answered);
    case Method::kRenew:
      return SendRenew(asked, answered);
    case Method::kReadHead:
      return SendReadHead(asked, answered);
    case Method::kReadMessages:
      return SendReadMessages(asked, answered);
    case Method::kReadSlot:
      return SendReadSlot(asked, answered);
  }
  return grpc::Status::OK;
}

absl::Status Wire::ReadLog(uint32_t session, std::vector<LogLine>& log) {
  for (bool end = false; !end;) {
    pb::ListAuditRecordsRequest request;
    request.set_session_id(IdOf(session));
    request.set_after_seq(log.empty() ? 0 : static_cast<int64_t>(log.back().seq));
    request.set_page_size(kPage);
    pb::ListAuditRecordsResponse reply;
    const grpc::Status status = Ask([&](Stub& stub, grpc::ClientContext& context) {
      return stub.ListAuditRecords(&context, request, &reply);
    });
    if (!status.ok()) return absl::UnavailableError(status.error_message());
    for (const pb::AuditRecord& record : reply.records()) {
      log.push_back({.seq = static_cast<uint64_t>(record.seq()),
                     .revision = static_cast<uint64_t>(record.revision()),
                     .epoch = static_cast<uint64_t>(record.epoch()),
                     .code = record.code(),
                     .request = UuidFrom(record.correlation_id())});
    }
    end = reply.next_page_token().empty();
  }
  return absl::OkStatus();
}

absl::StatusOr<Ending> Wire::ReadEnding(uint32_t session) {
  // There is nothing else to do meanwhile: the first call waits until it is connected, however busy
  // the machine is.
  failed_in_a_row_ = servers_.size();
  Ending ending;
  ending.session = session;
  Asked asked;
  asked.session = session;
  ending.head = Send(asked);
  if (ending.head.cause == Cause::kSessionNotFound) return ending;  // it was never created
  asked.method = Method::kReadMessages;
  Answered read;
  do {
    read = Send(asked);
  } while (read.outcome == Outcome::kOk && !read.complete);
  asked.method = Method::kReadSlot;
  const Answered slot = Send(asked);
  for (const Answered* answered :
       std::initializer_list<const Answered*>{&ending.head, &read, &slot}) {
    if (answered->outcome == Outcome::kOk) continue;
    return absl::UnavailableError(
        absl::StrCat(IdOf(session), " cannot be read: ", std::string(Name(answered->cause))));
  }
  ending.messages = read.messages;
  ending.digest = read.digest;
  ending.slot = slot.slot;
  const absl::Status status = ReadLog(session, ending.log);
  if (!status.ok()) return status;
  return ending;
}

}  // namespace holdfast::history
