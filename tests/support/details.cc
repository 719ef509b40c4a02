#include "tests/support/details.h"

#include "holdfast/v1/reasons.pb.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include <google/protobuf/any.pb.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace holdfast::test {
namespace {

// The detail in `any` if it is a `Detail`, and `show` of it appended.
template <typename Detail, typename Show>
void AppendDetail(const google::protobuf::Any& any, Show show, std::ostream& out) {
  Detail detail;
  if (!any.UnpackTo(&detail)) return;
  const std::string name = Detail::descriptor()->name();
  out << "\n    " << name << "{";
  show(detail);
  out << "}";
}

void AppendAny(const google::protobuf::Any& any, std::ostream& out) {
  AppendDetail<google::rpc::ErrorInfo>(
      any,
      [&](const auto& info) {
        out << info.domain() << " " << info.reason();
        const std::map<std::string, std::string> sorted(info.metadata().begin(),
                                                        info.metadata().end());
        for (const auto& [name, value] : sorted) out << "; " << name << "=" << value;
      },
      out);
  AppendDetail<google::rpc::RetryInfo>(
      any,
      [&](const auto& retry) {
        const bool waits = retry.retry_delay().seconds() > 0 || retry.retry_delay().nanos() > 0;
        out << (waits ? "a while" : "at once");
      },
      out);
  AppendDetail<google::rpc::BadRequest>(
      any,
      [&](const auto& bad) {
        for (const auto& field : bad.field_violations()) {
          out << field.field() << ": " << field.description();
        }
      },
      out);
  AppendDetail<google::rpc::QuotaFailure>(
      any,
      [&](const auto& quota) {
        for (const auto& violation : quota.violations()) {
          out << violation.subject() << ": " << violation.description();
        }
      },
      out);
  AppendDetail<google::rpc::PreconditionFailure>(
      any,
      [&](const auto& failure) {
        for (const auto& violation : failure.violations()) {
          out << violation.type() << " " << violation.subject() << ": " << violation.description();
        }
      },
      out);
  AppendDetail<google::rpc::ResourceInfo>(
      any,
      [&](const auto& info) {
        out << info.resource_type() << " " << info.resource_name() << ": " << info.description();
      },
      out);
  AppendDetail<google::rpc::RequestInfo>(
      any, [&](const auto& info) { out << info.request_id(); }, out);
}

std::string Masked(std::string text) {
  static const std::regex kUuid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  static const std::regex kTrace("RequestInfo\\{[0-9a-f]{32}\\}");
  static const std::regex kLeft("expires_in_ms=[0-9]+");
  // What is no longer kept is found when a store tidies, behind the changes.
  static const std::regex kOldest("EventsCompacted; oldest=[0-9]+");
  static const std::regex kCursor("cursor=[A-Za-z0-9_-]+");
  text = std::regex_replace(text, kCursor, "cursor=CURSOR");
  text = std::regex_replace(text, kOldest, "EventsCompacted; oldest=SEQ");
  text = std::regex_replace(text, kUuid, "UUID");
  text = std::regex_replace(text, kTrace, "RequestInfo{TRACE}");
  return std::regex_replace(text, kLeft, "expires_in_ms=MS");
}

// Every refusal that a test reads has only the metadata keys that reasons.proto declares.
void ExpectDeclared(const google::rpc::ErrorInfo& info) {
  const auto* value = v1::Reason_descriptor()->FindValueByName("REASON_" + info.reason());
  ASSERT_NE(value, nullptr) << info.reason();
  const v1::ReasonRules& rules = value->options().GetExtension(v1::reason_rules);
  std::set<std::string> keys(rules.metadata().begin(), rules.metadata().end());
  if (!rules.code().empty()) keys.insert("code");
  for (const auto& [key, fact] : info.metadata()) {
    EXPECT_TRUE(keys.contains(key)) << info.reason() << " has " << key << "=" << fact;
  }
}

}  // namespace

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  return details;
}

google::rpc::ErrorInfo ErrorInfoOf(const google::rpc::Status& details) {
  google::rpc::ErrorInfo info;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&info)) break;
  }
  return info;
}

std::string ReasonOf(const grpc::Status& status) {
  const google::rpc::ErrorInfo info = ErrorInfoOf(DetailsOf(status));
  if (info.domain() == "holdfast") ExpectDeclared(info);
  return info.reason();
}

std::string Describe(const grpc::Status& status) {
  std::ostringstream out;
  out << absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code())) << " "
      << ReasonOf(status) << ": " << status.error_message();
  const google::rpc::Status details = DetailsOf(status);
  if (details.code() != static_cast<int>(status.error_code())) out << " (another code inside)";
  for (const auto& any : details.details()) AppendAny(any, out);
  return Masked(out.str()) + "\n";
}

}  // namespace holdfast::test
