#include "tests/support/wire_client.h"

#include "tests/support/channel.h"
#include "tests/support/requests.h"

#include <google/rpc/error_details.pb.h>

namespace holdfast::testing {
namespace {

constexpr uint32_t kPage = 1000;  // the most that one page holds

std::shared_ptr<grpc::Channel> ConnectWithoutRetries(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return Connected(address, arguments);
}

absl::Duration FromWire(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace

Verdict VerdictOf(const google::rpc::Status& status) {
  Verdict verdict{.reason = "OK", .message = status.message()};
  if (status.code() == 0) return verdict;
  verdict.reason = "code " + std::to_string(status.code());
  for (const auto& detail : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::RetryInfo retry;
    if (detail.UnpackTo(&info)) {
      verdict.reason = info.reason();
      verdict.facts = {info.metadata().begin(), info.metadata().end()};
    }
    if (detail.UnpackTo(&retry)) verdict.retry_after = FromWire(retry.retry_delay());
  }
  return verdict;
}

Verdict VerdictOf(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  details.set_code(static_cast<int>(status.error_code()));
  details.set_message(status.error_message());
  return VerdictOf(details);
}

WireClient::WireClient(const std::string& address)
    : sessions_(pb::SessionService::NewStub(ConnectWithoutRetries(address))) {}

Verdict WireClient::ReadWhole(const std::string& session) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  pb::ReadSessionRequest request;
  request.set_session_id(session);
  const auto stream = sessions_->ReadSession(&context, request);
  pb::ReadSessionResponse piece;
  while (stream->Read(&piece)) {
  }
  return VerdictOf(stream->Finish());
}

Verdict WireClient::Renew(const std::string& session, const std::string& token) {
  const auto answer = Ask(&Stub::RenewLeases, test::RenewLeaseRequest(session, token));
  if (answer.verdict.reason != "OK" || answer.reply.failures().empty()) return answer.verdict;
  return VerdictOf(answer.reply.failures(0).status());
}

pb::Session WireClient::Get(const std::string& session) {
  pb::GetSessionRequest request;
  request.set_session_id(session);
  return Must(&Stub::GetSession, request).session();
}

std::string WireClient::Everything(const std::string& session) {
  pb::Session head = Get(session);
  head.mutable_lease()->clear_expires_in();
  pb::ListMessagesRequest messages;
  messages.set_session_id(session);
  messages.set_page_size(kPage);
  pb::ListSlotsRequest slots;
  slots.set_session_id(session);
  pb::ListJournalEntriesRequest journal;
  journal.set_session_id(session);
  journal.set_page_size(kPage);
  pb::ListEventsRequest events;
  events.set_session_id(session);
  events.set_page_size(kPage);
  return head.DebugString() + Must(&Stub::ListMessages, messages).DebugString() +
         Must(&Stub::ListSlots, slots).DebugString() +
         Must(&Stub::ListJournalEntries, journal).DebugString() +
         Must(&Stub::ListEvents, events).DebugString();
}

}  // namespace holdfast::testing
