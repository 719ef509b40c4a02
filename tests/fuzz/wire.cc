// What the counts on the wire say of bytes, held against the message that the library makes of
// them.
#include "holdfast/v1/session_service.pb.h"
#include "server/rpc/call/wire_counts.h"
#include "session/refusal.h"
#include "tests/fuzz/targets.h"

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>

#include <array>
#include <cstdint>

namespace holdfast::fuzz {
namespace {

namespace pb = ::holdfast::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Elements of one map that have the same key are one in the message, and two on the wire.
void RequireWithin(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated()) {
      const auto count = static_cast<size_t>(message.GetReflection()->FieldSize(message, field));
      Require(count <= FindRepeatedLimit(*field)->most, "more elements than were counted");
    } else if (field->message_type() != nullptr) {
      RequireWithin(message.GetReflection()->GetMessage(message, field));
    }
  }
}

template <typename Request>
void CountAndTake(std::string_view bytes) {
  static const WireCounts kCounts(*Request::descriptor());
  const absl::Status counted = kCounts.Check(bytes);
  if (Is(counted, Reason::kTooLarge)) return;
  Request request;
  const bool parsed = request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  Require(counted.ok() || !parsed, "a message was refused as none");
  if (parsed) RequireWithin(request);
}

constexpr std::array kRequests = {
    CountAndTake<pb::CreateSessionRequest>, CountAndTake<pb::ResumeSessionRequest>,
    CountAndTake<pb::ListSessionsRequest>, CountAndTake<pb::UpdateSessionRequest>,
    CountAndTake<pb::CloseSessionRequest>};

}  // namespace

void Wire(std::string_view bytes) {
  // Protobuf logs every text that is not UTF-8.
  static const bool kSilenced = google::protobuf::SetLogHandler(nullptr) != nullptr;
  (void)kSilenced;
  if (bytes.empty()) return;
  const auto request = static_cast<uint8_t>(bytes.front()) % kRequests.size();
  kRequests.at(request)(bytes.substr(1));
}

}  // namespace holdfast::fuzz
