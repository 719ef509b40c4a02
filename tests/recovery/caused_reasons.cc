#include "tests/recovery/caused_reasons.h"

#include "tests/support/method_rules.h"
#include "tests/support/wire_client.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

#include <algorithm>
#include <iterator>

namespace holdfast::testing {
namespace {

using google::protobuf::MethodDescriptor;

std::set<std::string> DeclaredFor(const MethodDescriptor& method) {
  std::set<std::string> reasons = test::ReasonsOf(method);
  reasons.merge(test::ReasonsOf(pb::REASON_GROUP_ANY_CALL));
  return reasons;
}

// A renewal of leases and a read of several sessions succeed as calls: the reply has the refusal of
// each lease and of each session.
std::string AnsweredReason(const MethodDescriptor& method, const RawAnswer& answer) {
  if (!answer.message) return VerdictOf(answer.status).reason;
  pb::BatchGetSessionsResponse read;
  const bool has_refusal = method.output_type() == pb::BatchGetSessionsResponse::descriptor() &&
                           read.ParseFromString(answer.reply) && read.results_size() > 0 &&
                           read.results(0).has_status();
  if (has_refusal) return VerdictOf(read.results(0).status()).reason;
  pb::RenewLeasesResponse renewed;
  const bool has_failure = method.output_type() == pb::RenewLeasesResponse::descriptor() &&
                           renewed.ParseFromString(answer.reply) && renewed.failures_size() > 0;
  return has_failure ? VerdictOf(renewed.failures(0).status()).reason : "OK";
}

}  // namespace

CausedReasons::CausedReasons() {
  for (const MethodDescriptor* method : test::ApiMethods()) {
    for (const std::string& reason : DeclaredFor(*method)) {
      declared_.emplace(method->name(), reason);
    }
  }
}

std::vector<const MethodDescriptor*> CausedReasons::MethodsWith(const std::string& reason) {
  std::vector<const MethodDescriptor*> methods = test::ApiMethods();
  std::erase_if(methods,
                [&](const auto* method) { return !DeclaredFor(*method).contains(reason); });
  return methods;
}

void CausedReasons::Note(const Row& wanted, const std::string& reason) {
  if (reason != "OK") caused_.emplace(wanted.first, reason);
  if (reason != wanted.second) instead_[wanted] = reason;
}

void CausedReasons::NoteLog(const std::string& log) {
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(log, '\n'))) {
    const auto call = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!call.is_object() || !call.contains("method") || call["reason"] == "") continue;
    caused_.emplace(call["method"], call["reason"]);
  }
}

std::set<CausedReasons::Row> CausedReasons::Missing() const {
  std::set<Row> missing;
  std::ranges::set_difference(declared_, caused_, std::inserter(missing, missing.end()));
  return missing;
}

std::string CausedReasons::Describe(const std::set<Row>& rows) const {
  std::string lines;
  for (const Row& row : rows) {
    const auto instead = instead_.find(row);
    absl::StrAppend(&lines, row.first, " ", row.second);
    if (instead != instead_.end()) absl::StrAppend(&lines, " (", instead->second, " came instead)");
    absl::StrAppend(&lines, "\n");
  }
  return lines;
}

std::set<CausedReasons::Row> CausedReasons::Undeclared() const {
  std::set<Row> undeclared;
  std::ranges::set_difference(caused_, declared_, std::inserter(undeclared, undeclared.end()));
  return undeclared;
}

void RefusedCalls::Send(const MethodDescriptor& method, const std::string& reason,
                        const std::vector<std::string>& requests, const std::string& metadata) {
  // The session is read before its snapshot.
  const size_t replies_past = method.name() == "ReadSnapshot" ? 1 : 0;
  const RawAnswer answer =
      raw_.Send(method, requests, {.metadata = metadata, .replies_past = replies_past});
  caused_.Note({method.name(), reason}, AnsweredReason(method, answer));
}

}  // namespace holdfast::testing
