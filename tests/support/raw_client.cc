#include "tests/support/raw_client.h"

#include "tests/support/channel.h"

#include "absl/time/clock.h"

#include <cstddef>
#include <vector>

namespace holdfast::testing {
namespace {

// After which a call counts as never answered.
constexpr absl::Duration kUnansweredAfter = absl::Minutes(1);

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return "";
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

// Waits for the one operation that is under way.
bool Next(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

}  // namespace

RawClient::RawClient(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  stub_ = std::make_unique<grpc::GenericStub>(Connected(address, arguments));
}

RawAnswer RawClient::Send(const google::protobuf::MethodDescriptor& method,
                          const std::vector<std::string>& requests, const RawCall& how) {
  grpc::ClientContext context;
  if (!how.metadata.empty()) context.AddMetadata("x-sent", how.metadata);
  context.set_deadline(absl::ToChronoTime(absl::Now() + kUnansweredAfter));
  grpc::CompletionQueue queue;
  const absl::Time begun = absl::Now();
  const auto call = stub_->PrepareCall(
      &context, "/" + method.service()->full_name() + "/" + method.name(), &queue);
  call->StartCall(nullptr);
  bool going = Next(queue);
  if (going && requests.empty()) {
    call->WritesDone(nullptr);
    Next(queue);
  }
  for (size_t at = 0; going && at < requests.size(); ++at) {
    const grpc::Slice slice(requests[at]);
    grpc::WriteOptions options;
    if (at + 1 == requests.size()) options.set_last_message();
    call->Write(grpc::ByteBuffer(&slice, 1), options, nullptr);
    going = Next(queue);  // false when the call has ended
  }
  RawAnswer answer;
  grpc::ByteBuffer reply;
  for (size_t at = 0; at <= how.replies_past; ++at) {
    call->Read(&reply, nullptr);
    answer.message = Next(queue);
    if (!answer.message) break;
  }
  answer.took = absl::Now() - begun;
  if (answer.message) {
    answer.reply = TextOf(reply);
    if (method.server_streaming()) context.TryCancel();
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  Next(queue);
  if (!answer.message) answer.status = status;
  queue.Shutdown();
  while (Next(queue)) {
  }
  return answer;
}

}  // namespace holdfast::testing
