#include "server/rpc/call/status.h"

#include "server/rpc/convert/fields.h"
#include "session/limits.h"
#include "session/reasons.h"

#include "absl/time/time.h"

#include <google/rpc/error_details.pb.h>
#include <string_view>

namespace holdfast {
namespace {

constexpr char kDomain[] = "holdfast";
constexpr char kSessionType[] = "holdfast.v1.Session";

// The trailer is small, and a fact may be a client's own text: cut at a character's border.
std::string Clip(std::string_view text) {
  if (text.size() <= kRefusalTextBytes) return std::string(text);
  size_t end = kRefusalTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

std::string Fact(const Refusal& refusal, const std::string& name) {
  const auto found = refusal.facts().find(name);
  return found == refusal.facts().end() ? "" : Clip(found->second);
}

google::rpc::ErrorInfo ErrorInfoOf(const Refusal& refusal, const ReasonRow& row) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(row.name));
  info.set_domain(kDomain);
  for (const auto& [name, value] : refusal.facts()) (*info.mutable_metadata())[name] = Clip(value);
  if (!row.code.empty()) (*info.mutable_metadata())["code"] = std::string(row.code);
  return info;
}

google::rpc::BadRequest BadRequestOf(const Refusal& refusal) {
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  // The one reason whose field is in its name.
  const bool request_id = refusal.facts().contains("request_id");
  const std::string field = request_id ? "request_id" : Fact(refusal, "field");
  violation->set_field(field);
  // The message of a refused field begins with its name.
  std::string_view description = refusal.message();
  if (description.starts_with(field + ": ")) description.remove_prefix(field.size() + 2);
  violation->set_description(Clip(description));
  return bad;
}

google::rpc::QuotaFailure QuotaFailureOf(const Refusal& refusal) {
  google::rpc::QuotaFailure quota;
  auto* violation = quota.add_violations();
  const std::string field = Fact(refusal, "field");
  violation->set_subject(field.empty() ? "store" : field);  // what is full
  violation->set_description(Clip(refusal.message()));
  return quota;
}

google::rpc::ResourceInfo ResourceInfoOf(const Refusal& refusal, const CallFacts& call) {
  google::rpc::ResourceInfo info;
  info.set_resource_type(kSessionType);
  info.set_resource_name(Clip(call.session));
  info.set_description(Clip(refusal.message()));
  return info;
}

google::rpc::PreconditionFailure PreconditionOf(const Refusal& refusal, const ReasonRow& row,
                                                const CallFacts& call) {
  google::rpc::PreconditionFailure failure;
  auto* violation = failure.add_violations();
  violation->set_type(std::string(row.name));
  violation->set_subject(Clip(call.session));
  violation->set_description(Clip(refusal.message()));
  return failure;
}

// The detail that fits the status of the reason; none fits the others.
void AddFitting(const Refusal& refusal, const ReasonRow& row, const CallFacts& call,
                google::rpc::Status& out) {
  switch (row.status) {
    case absl::StatusCode::kInvalidArgument:
      out.add_details()->PackFrom(BadRequestOf(refusal));
      return;
    case absl::StatusCode::kResourceExhausted:
      out.add_details()->PackFrom(QuotaFailureOf(refusal));
      return;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
      out.add_details()->PackFrom(ResourceInfoOf(refusal, call));
      return;
    case absl::StatusCode::kFailedPrecondition:
      out.add_details()->PackFrom(PreconditionOf(refusal, row, call));
      return;
    default:
      return;
  }
}

}  // namespace

google::rpc::Status ToRpcStatus(const Refusal& refusal, const CallFacts& call) {
  google::rpc::Status out;
  const ReasonRow& row = RowOf(refusal.reason());
  out.set_code(static_cast<int>(row.status));
  out.set_message(Clip(refusal.message()));
  out.add_details()->PackFrom(ErrorInfoOf(refusal, row));
  if (const auto delay = refusal.retry_after()) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = ToWire(*delay);
    out.add_details()->PackFrom(retry);
  }
  AddFitting(refusal, row, call, out);
  google::rpc::RequestInfo request;
  request.set_request_id(call.trace_id);
  out.add_details()->PackFrom(request);
  return out;
}

grpc::Status ToGrpcStatus(const Refusal& refusal, const CallFacts& call) {
  const google::rpc::Status details = ToRpcStatus(refusal, call);
  return {static_cast<grpc::StatusCode>(details.code()), details.message(),
          details.SerializeAsString()};
}

}  // namespace holdfast
