#include "tests/golden/api_page.h"

#include "holdfast/version.h"
#include "session/limits.h"
#include "session/reasons.h"
#include "tests/golden/proto_comments.h"
#include "tests/support/field_behavior.h"
#include "tests/support/method_rules.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

namespace pb = ::holdfast::v1;
using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::MethodOptions;
using google::protobuf::ServiceDescriptor;

constexpr char kNothing[] = "–";

std::string Cell(const std::string& text) {
  return text.empty() ? kNothing : absl::StrReplaceAll(text, {{"|", "\\|"}});
}

std::string Row(const std::vector<std::string>& cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

std::string HeaderRow(const std::vector<std::string>& names) {
  return absl::StrCat(
      Row(names), "|",
      std::string(absl::StrReplaceAll(std::string(names.size(), '-'), {{"-", "---|"}})), "\n");
}

std::string Codes(const std::vector<std::string>& words) {
  return absl::StrJoin(words, ", ", [](std::string* out, const std::string& word) {
    absl::StrAppend(out, "`", word, "`");
  });
}

// `reasons` in the order of the list, as links are too many for a table.
std::string InOrder(const std::set<std::string>& reasons) {
  std::vector<std::string> ordered;
  for (const ReasonRow& row : kReasonRows) {
    if (reasons.contains(std::string(row.name))) ordered.emplace_back(row.name);
  }
  return Codes(ordered);
}

std::string Link(const std::string& heading) {
  return absl::StrCat("[", heading, "](#",
                      absl::AsciiStrToLower(absl::StrReplaceAll(heading, {{".", ""}})), ")");
}

// The name below holdfast.v1: `CreateSessionRequest`, `GetRequestOutcomeResponse.Outcome`.
std::string Short(const std::string& full_name) {
  return std::string(absl::StripPrefix(full_name, "holdfast.v1."));
}

std::string PermissionText(pb::Permission permission) {
  if (permission == pb::PERMISSION_UNSPECIFIED) return "";
  const std::string name(absl::StripPrefix(pb::Permission_Name(permission), "PERMISSION_"));
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"_", "."}}));
}

int TimeoutSeconds(const MethodDescriptor& method) {
  if (IsStream(method)) return 0;
  const pb::MethodRules& rules = RulesOf(method);
  return static_cast<int>(rules.has_timeout() ? rules.timeout().seconds()
                                              : absl::ToInt64Seconds(kDefaultDeadline));
}

std::string KindText(const MethodDescriptor& method) {
  if (method.client_streaming() && method.server_streaming()) return "both stream";
  if (method.client_streaming()) return "client streams";
  return method.server_streaming() ? "server streams" : "unary";
}

std::string RepeatText(const MethodDescriptor& method) {
  switch (method.options().idempotency_level()) {
    case MethodOptions::NO_SIDE_EFFECTS:
      return "reads";
    case MethodOptions::IDEMPOTENT:
      return "idempotent";
    default:
      return "no";
  }
}

std::string LeaseText(pb::LeaseUse use) {
  if (use == pb::LEASE_USE_REQUIRED) return "required";
  return use == pb::LEASE_USE_OPTIONAL ? "optional" : "";
}

std::string MethodsTable() {
  std::string text = HeaderRow({"method", "kind", "repeat", "lease", "deadline", "permission"});
  for (const MethodDescriptor* method : ApiMethods()) {
    const pb::MethodRules& rules = RulesOf(*method);
    const int seconds = TimeoutSeconds(*method);
    std::string needs = PermissionText(rules.permission());
    if (rules.override_permission() != pb::PERMISSION_UNSPECIFIED) {
      absl::StrAppend(&needs, " or ", PermissionText(rules.override_permission()));
    }
    text += Row({Link(method->name()), KindText(*method), RepeatText(*method),
                 Cell(LeaseText(rules.lease())),
                 Cell(seconds == 0 ? "" : absl::StrCat(seconds, " s")), Cell(needs)});
  }
  return text;
}

std::string ReasonsTable(const ProtoComments& comments, bool reserved) {
  std::string text = HeaderRow({"reason", "gRPC", "code", "retry", "metadata", "meaning"});
  for (const ReasonRow& row : kReasonRows) {
    if (row.reserved != reserved) continue;
    const pb::ReasonRules& rules = RulesOf(row.reason);
    const std::vector<std::string> keys(rules.metadata().begin(), rules.metadata().end());
    text += Row({absl::StrCat("`", std::string(row.name), "`"), rules.status(), Cell(rules.code()),
                 std::string(Words(row.retry)), Cell(Codes(keys)),
                 Cell(comments.Of(DeclaredReason(row.reason).full_name()))});
  }
  return text;
}

// The columns of what to do, and the advice that each of them sums up.
size_t ColumnOf(Retry retry) {
  switch (retry) {
    case Retry::kSameRequestId:
    case Retry::kAfterRetryInfo:
    case Retry::kAfterRetryInfoSameRequestId:
    case Retry::kFromCursor:
    case Retry::kWithCredentials:
      return 0;
    case Retry::kAfterReadingHead:
    case Retry::kFromWhatIsKept:
      return 1;
    case Retry::kAfterResume:
    case Retry::kResumeInstead:
      return 2;
    case Retry::kNever:
    case Retry::kByStreamOrNever:
      return 3;
  }
  return 3;
}

std::string AdviceRow(const std::string& name, const std::set<std::string>& reasons) {
  std::array<std::set<std::string>, 4> columns;
  for (const ReasonRow& row : kReasonRows) {
    const std::string reason(row.name);
    if (reasons.contains(reason)) columns.at(ColumnOf(row.retry)).insert(reason);
  }
  std::vector<std::string> cells = {name};
  for (const std::set<std::string>& column : columns) cells.push_back(Cell(InOrder(column)));
  return Row(cells);
}

std::string AdviceTable() {
  const std::set<std::string> common = ReasonsOf(pb::REASON_GROUP_ANY_CALL);
  std::string text = HeaderRow({"method", "again", "read first", "resume first", "not again"});
  text += AdviceRow("any call", common);
  for (const MethodDescriptor* method : ApiMethods()) {
    text += AdviceRow(Link(method->name()), ReasonsOf(*method));
  }
  return text;
}

std::string ServiceText(const ServiceDescriptor& service, const ProtoComments& comments) {
  std::string text = absl::StrCat("## ", service.name(), "\n\n");
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    absl::StrAppend(&text, "### ", method.name(), "\n\n", comments.Of(method.full_name()), "\n\n");
    absl::StrAppend(&text, method.client_streaming() ? "Stream of " : "",
                    Link(method.input_type()->name()), " → ",
                    method.server_streaming() ? "stream of " : "",
                    Link(method.output_type()->name()), "\n\n");
    const std::set<std::string> reasons = ReasonsOf(method);
    absl::StrAppend(&text,
                    reasons.empty() ? "Reasons: those of any call."
                                    : absl::StrCat("Reasons: ", InOrder(reasons), "."),
                    "\n\n");
  }
  return text;
}

// Links to what the page has; other types by their full name.
std::string NamedType(const std::string& full_name) {
  return full_name.starts_with("holdfast.v1.") ? Link(Short(full_name))
                                               : absl::StrCat("`", full_name, "`");
}

std::string TypeText(const FieldDescriptor& field) {
  if (field.is_map()) {
    return absl::StrCat("map of ", TypeText(*field.message_type()->map_key()), " to ",
                        TypeText(*field.message_type()->map_value()));
  }
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = NamedType(field.message_type()->full_name());
  if (field.enum_type() != nullptr) type = NamedType(field.enum_type()->full_name());
  return field.is_repeated() ? absl::StrCat("repeated ", type) : type;
}

std::string FieldText(const FieldDescriptor& field, const ProtoComments& comments) {
  std::vector<std::string> parts;
  if (BehaviorsOf(field).contains(google::api::REQUIRED)) parts.emplace_back("**Required.**");
  if (const auto* oneof = field.real_containing_oneof(); oneof != nullptr) {
    parts.push_back(absl::StrCat("One of `", oneof->name(), "`."));
  }
  if (const std::string comment = comments.Of(field.full_name()); !comment.empty()) {
    parts.push_back(comment);
  }
  return absl::StrJoin(parts, " ");
}

std::string EnumText(const EnumDescriptor& type, const ProtoComments& comments) {
  std::string text = absl::StrCat("### ", Short(type.full_name()), "\n\n");
  if (const std::string comment = comments.Of(type.full_name()); !comment.empty()) {
    absl::StrAppend(&text, comment, "\n\n");
  }
  text += HeaderRow({"value", "number", "meaning"});
  for (int i = 0; i < type.value_count(); ++i) {
    const auto& value = *type.value(i);
    text += Row({absl::StrCat("`", value.name(), "`"), absl::StrCat(value.number()),
                 Cell(comments.Of(value.full_name()))});
  }
  return text + "\n";
}

std::string MessageText(const Descriptor& type, const ProtoComments& comments) {
  if (type.options().map_entry()) return "";
  std::string text = absl::StrCat("### ", Short(type.full_name()), "\n\n");
  if (const std::string comment = comments.Of(type.full_name()); !comment.empty()) {
    absl::StrAppend(&text, comment, "\n\n");
  }
  if (type.field_count() == 0) text += "No fields.\n";
  if (type.field_count() > 0) text += HeaderRow({"field", "type", "meaning"});
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    text += Row(
        {absl::StrCat("`", field.name(), "`"), TypeText(field), Cell(FieldText(field, comments))});
  }
  text += "\n";
  for (int i = 0; i < type.nested_type_count(); ++i) {
    text += MessageText(*type.nested_type(i), comments);
  }
  for (int i = 0; i < type.enum_type_count(); ++i) text += EnumText(*type.enum_type(i), comments);
  return text;
}

// The files that the services use, by name, without those that only hold options.
std::map<std::string, const FileDescriptor*> ApiFiles() {
  std::map<std::string, const FileDescriptor*> files;
  std::vector<const FileDescriptor*> left;
  for (const ServiceDescriptor* service : ApiServices()) left.push_back(service->file());
  while (!left.empty()) {
    const FileDescriptor* file = left.back();
    left.pop_back();
    if (file->package() != "holdfast.v1" || file->extension_count() > 0) continue;
    if (!files.emplace(file->name(), file).second) continue;
    for (int i = 0; i < file->dependency_count(); ++i) left.push_back(file->dependency(i));
  }
  return files;
}

std::string TypesText(const ProtoComments& comments) {
  std::string messages = "## Messages\n\n";
  std::string enums = "## Enums\n\n";
  for (const auto& [name, file] : ApiFiles()) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      messages += MessageText(*file->message_type(i), comments);
    }
    for (int i = 0; i < file->enum_type_count(); ++i) {
      enums += EnumText(*file->enum_type(i), comments);
    }
  }
  return messages + enums;
}

}  // namespace

std::string ApiPage() {
  const ProtoComments comments("protos");
  std::string page = absl::StrCat(
      "# API reference\n\nOf version ", kVersion,
      ". Generated from `protos/holdfast/v1` by the test Golden.ApiPage. "
      "[api.md](api.md) explains the rules that several methods share.\n\n## Methods\n\n",
      MethodsTable(),
      "\n*Repeat*: a method that reads changes nothing; an idempotent one takes effect once, "
      "however "
      "often the same request is sent. *Lease*: whether the method uses a lease token. *Deadline*: "
      "that of the [service config](../protos/holdfast/v1/service_config.json); a stream has none. "
      "*Permission*: what the caller must be allowed to do; the second one is needed to act "
      "against "
      "the lease of another. This version has no authentication and grants all of them.\n\n");
  absl::StrAppend(
      &page, "## Reasons\n\nEvery error has one of these reasons in `google.rpc.ErrorInfo`.\n\n",
      ReasonsTable(comments, false),
      "\nReserved: no call of this version is refused so, and name and status are fixed.\n\n",
      ReasonsTable(comments, true), "\n");
  absl::StrAppend(
      &page,
      "## What to do, by method\n\nBeside its own reasons a method can be refused with those of "
      "any call. **Again**: send the same request with the same request id, at once or after "
      "`RetryInfo`. **Read first**: read the session and decide anew under a new request id. "
      "**Resume first**: resume the session and decide anew. **Not again**: send another request "
      "or none.\n\n",
      AdviceTable(), "\n");
  for (const ServiceDescriptor* service : ApiServices()) page += ServiceText(*service, comments);
  page += TypesText(comments);
  return std::string(absl::StripSuffix(page, "\n"));
}

std::string ServiceConfigFile() {
  // What each entry says beside its methods, in the order of the file.
  std::map<std::pair<bool, int>, std::vector<std::string>> methods;
  for (const MethodDescriptor* method : ApiMethods()) {
    methods[{IsStream(*method), TimeoutSeconds(*method)}].push_back(
        absl::StrCat("        {\"service\": \"", method->service()->full_name(),
                     "\", \"method\": \"", method->name(), "\"}"));
  }
  std::vector<std::string> entries;
  for (const auto& [kind, names] : methods) {
    std::string entry =
        absl::StrCat("    {\n      \"name\": [\n", absl::StrJoin(names, ",\n"), "\n      ]");
    if (!kind.first) {
      absl::StrAppend(&entry, ",\n      \"timeout\": \"", kind.second, R"(s",
      "waitForReady": true,
      "retryPolicy": {
        "maxAttempts": 5,
        "initialBackoff": "0.1s",
        "maxBackoff": "2s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]
      })");
    }
    entries.push_back(entry + "\n    }");
  }
  return absl::StrCat("{\n  \"methodConfig\": [\n", absl::StrJoin(entries, ",\n"), "\n  ]\n}\n");
}

}  // namespace holdfast::test
