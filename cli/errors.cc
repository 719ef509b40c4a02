#include "cli/errors.h"

#include "cli/reasons.h"
#include "cli/text.h"
#include "cli/times.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/any.pb.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace holdfast::cli {
namespace {

constexpr std::array<const char*, 17> kCodeNames = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

// Holdfast always says why. A status of these codes without details comes from the transport: a
// connection that was refused, that broke (a server that dies mid-call gives several of them), or
// was silent too long.
bool IsFromTransport(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
      return true;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // A transport or a proxy that has too much to do resets calls; a message that is too large is
      // refused otherwise.
      return absl::StrContains(status.error_message(), "RST_STREAM");
    default:
      return false;
  }
}

std::string ReasonWithoutDetails(const grpc::Status& status) {
  const grpc::StatusCode code = status.error_code();
  if (IsFromTransport(status)) return std::string(kUnreachableReason);
  if (code == grpc::StatusCode::UNIMPLEMENTED) return std::string(kNotHoldfastReason);
  const auto index = static_cast<size_t>(code);
  return index < kCodeNames.size() ? kCodeNames.at(index) : "UNKNOWN";
}

// What the transport's words, which are for its developers, mean to a person. The first that is
// found counts. Of an address that is no file a missing one says nothing.
struct TransportWords {
  std::string_view found;
  std::string_view meaning;
};
constexpr std::string_view kNoSuchFile = "No such file or directory";
constexpr std::array<TransportWords, 15> kTransportWords = {{
    {"DNS resolution failed", "the host name cannot be resolved"},
    {"C-ares", "the host name cannot be resolved"},
    {"ARES_", "the host name cannot be resolved"},
    {"Connection refused", "the connection was refused"},
    {kNoSuchFile, "there is no such socket"},
    {"Permission denied", "the socket may not be opened: permission denied"},
    {"No route to host", "there is no route to the host"},
    {"Network is unreachable", "the network cannot be reached"},
    {"connect an http1.x server", "what answered does not speak gRPC"},
    {"Connection reset", "the connection broke"},
    {"Broken pipe", "the connection broke"},
    {"Socket closed", "the connection broke"},
    {"Deadline Exceeded", "no answer came in time"},
    {"RST_STREAM", "the call was broken off"},
    {"larger than max", "a message was larger than a connection takes"},
}};

std::string MessageWithoutDetails(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return "";
  // That one is the transport's too, which has then reached a server.
  const bool exhausted = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  if (!exhausted && !IsFromTransport(status)) return status.error_message();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) return "no answer came in time";
  const bool is_file = absl::StrContains(status.error_message(), "unix:");
  for (const TransportWords& words : kTransportWords) {
    if (words.found == kNoSuchFile && !is_file) continue;
    if (absl::StrContains(status.error_message(),
                          absl::string_view(words.found.data(), words.found.size()))) {
      return std::string(words.meaning);
    }
  }
  return "";
}

void TakeDetail(const google::protobuf::Any& detail, Failure& failure) {
  if (google::rpc::ErrorInfo info; detail.UnpackTo(&info)) {
    failure.reason = info.reason();
    failure.metadata.insert(info.metadata().begin(), info.metadata().end());
  } else if (google::rpc::RetryInfo retry; detail.UnpackTo(&retry)) {
    failure.retry_after = FromProto(retry.retry_delay());
  }
}

}  // namespace

Failure FailureOf(const grpc::Status& status) {
  Failure failure{.reason = ReasonWithoutDetails(status),
                  .message = MessageWithoutDetails(status),
                  .code = status.error_code()};
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details()) && details.details_size() > 0) {
    failure.message = status.error_message();
    for (const google::protobuf::Any& detail : details.details()) TakeDetail(detail, failure);
  }
  return failure;
}

bool IsRefusedFor(const grpc::Status& status, std::string_view reason) {
  return !status.ok() && FailureOf(status).reason == reason;
}

std::string Line(const Failure& failure) {
  const Explanation& explanation = ExplanationOf(failure.reason);
  std::string line = absl::StrCat(failure.reason, ": ", std::string(explanation.meaning));
  if (!failure.message.empty()) absl::StrAppend(&line, " (", failure.message, ")");
  const char* separator = " [";
  for (const auto& [name, value] : failure.metadata) {
    absl::StrAppend(&line, separator, name, "=", value);
    separator = ", ";
  }
  if (!failure.metadata.empty()) line += ']';
  absl::StrAppend(&line, "; next: ", std::string(explanation.next));
  if (failure.retry_after) {
    absl::StrAppend(&line, ", in ", ShortDuration(*failure.retry_after));
  }
  return Printable(line);
}

nlohmann::ordered_json ToJson(const Failure& failure) {
  nlohmann::ordered_json object;
  object["reason"] = failure.reason;
  object["message"] = failure.message;
  object["metadata"] = failure.metadata;
  if (failure.retry_after) {
    object["retry_after_ms"] = absl::ToInt64Milliseconds(*failure.retry_after);
  }
  return object;
}

ExitCode ExitCodeOf(const Failure& failure) {
  const bool silent = failure.reason == kUnreachableReason || failure.reason == kNotHoldfastReason;
  if (silent || failure.code == grpc::StatusCode::UNAVAILABLE) return kUnreachable;
  // Nothing is corrupt then, and yet something is missing from this store.
  const bool behind = failure.reason == "REVISION_AHEAD";
  return behind || failure.code == grpc::StatusCode::DATA_LOSS ? kDifference : kRefused;
}

}  // namespace holdfast::cli
