#include "cli/store_commands.h"

#include "cli/clock.h"
#include "cli/durations.h"
#include "cli/enum_text.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/text.h"

#include "CLI/CLI.hpp"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

// Makes one call and prints its reply: as JSON, or as `write(reply)` does. `classify(reply)`
// answers how to exit. What the server finds damaged is damage here, too.
template <typename Reply, typename Ask, typename Write, typename Classify>
ExitCode RunStoreCall(const Invocation& invocation, const RetryPolicy& policy, Ask ask, Write write,
                      Classify classify) {
  const Connection connection(invocation.address);
  Reply reply;
  const CallResult result = Caller(policy, MachineClock()).Call([&](grpc::ClientContext& context) {
    return ask(connection, context, reply);
  });
  if (!result.status.ok()) return Refuse(invocation, result.status);
  if (invocation.json()) {
    WriteJson(invocation, ToJson(reply));
  } else {
    write(reply);
  }
  return classify(reply);
}

std::string YesOrNo(bool value) { return value ? "yes" : "no"; }

// What the store can do, as rows of a table.
std::vector<Row> CapabilityRows(const v1::DescribeStoreResponse& store) {
  const v1::StoreCapabilities& can = store.capabilities();
  return {{"contract version", store.contract_version()},
          {"required core", store.required_core_version()},
          {"journaling", YesOrNo(can.journaling())},
          {"snapshot limit", absl::StrCat(can.snapshot_bytes_limit(), " bytes")},
          {"streams large slots", YesOrNo(can.large_slot_streaming())},
          {"concurrent readers", YesOrNo(can.concurrent_readers())}};
}

void WriteDescription(std::ostream& out, const v1::DescribeStoreResponse& store) {
  std::vector<Row> rows = {{"kind", store.kind()},
                           {"store id", store.store_id()},
                           {"incarnation", absl::StrCat(store.incarnation())},
                           {"durability", store.durability()}};
  for (Row& row : CapabilityRows(store)) rows.push_back(std::move(row));
  const std::string loaded = v1::StoreCardinality_Name(store.loaded_cardinality());
  const std::string active = v1::StoreCardinality_Name(store.active_cardinality());
  const std::string reload = v1::StoreReloadBehavior_Name(store.reload_behavior());
  rows.push_back({"stores loaded", EnumText(loaded, "STORE_CARDINALITY_")});
  rows.push_back({"stores active", EnumText(active, "STORE_CARDINALITY_")});
  rows.push_back({"reload", EnumText(reload, "STORE_RELOAD_BEHAVIOR_")});
  WriteTable(out, rows);
}

void WriteStatus(std::ostream& out, const v1::StatusResponse& status,
                 const v1::DescribeStoreResponse& store) {
  std::vector<Row> rows = {
      {"store", absl::StrCat(status.store_name(), " (", status.store_kind(), ")")},
      {"store id", status.store_id()},
      {"incarnation", absl::StrCat(status.incarnation())},
      {"healthy", YesOrNo(status.serving())}};
  if (!status.problem().empty()) rows.push_back({"problem", status.problem()});
  for (const std::string& warning : status.warnings()) rows.push_back({"warning", warning});
  rows.push_back({"durability", status.durability()});
  rows.push_back(
      {"listing", status.listing_incomplete() ? "incomplete: it is being rebuilt" : "complete"});
  for (Row& row : CapabilityRows(store)) rows.push_back(std::move(row));
  rows.push_back({"server version", status.version()});
  WriteTable(out, rows);
}

ExitCode RunStatus(const Invocation& invocation, const RetryPolicy& policy) {
  const Connection connection(invocation.address);
  const Caller caller(policy, MachineClock());
  v1::StatusResponse status;
  CallResult result = caller.Call([&](grpc::ClientContext& context) {
    return connection.admin().Status(&context, {}, &status);
  });
  if (!result.status.ok()) return Refuse(invocation, result.status);
  v1::DescribeStoreResponse store;
  result = caller.Call([&](grpc::ClientContext& context) {
    return connection.store().DescribeStore(&context, {}, &store);
  });
  if (!result.status.ok()) return Refuse(invocation, result.status);
  if (invocation.json()) {
    WriteJson(invocation, {{"status", ToJson(status)}, {"store", ToJson(store)}});
  } else {
    WriteStatus(invocation.out, status, store);
  }
  return status.serving() ? kDone : kUnreachable;
}

ExitCode RunDescribe(const Invocation& invocation, const RetryPolicy& policy) {
  return RunStoreCall<v1::DescribeStoreResponse>(
      invocation, policy,
      [](const Connection& connection, grpc::ClientContext& context, auto& reply) {
        return connection.store().DescribeStore(&context, {}, &reply);
      },
      [&](const auto& reply) { WriteDescription(invocation.out, reply); },
      [](const auto&) { return kDone; });
}

void WriteCheck(std::ostream& out, const v1::CheckStoreResponse& check) {
  std::vector<Row> rows = {{"reachable", YesOrNo(check.reachable())},
                           {"writable", YesOrNo(check.writable())}};
  if (!check.diagnostic().empty()) rows.push_back({"problem", check.diagnostic()});
  for (const std::string& id : check.reappeared_session_ids()) {
    rows.push_back({"reappeared after delete", id});
  }
  WriteTable(out, rows);
}

ExitCode RunCheck(const Invocation& invocation, const RetryPolicy& policy) {
  return RunStoreCall<v1::CheckStoreResponse>(
      invocation, policy,
      [](const Connection& connection, grpc::ClientContext& context, auto& reply) {
        return connection.store().CheckStore(&context, {}, &reply);
      },
      [&](const auto& reply) { WriteCheck(invocation.out, reply); },
      [](const auto& reply) {
        if (!reply.reachable() || !reply.writable()) return kUnreachable;
        return reply.reappeared_session_ids().empty() ? kDone : kDifference;
      });
}

void WriteVerdict(std::ostream& out, const std::string& session,
                  const v1::VerifyAuditResponse& verdict) {
  out << Printable(session) << ": ";
  if (verdict.valid()) {
    out << "all " << verdict.records()
        << " audit records are as they were written; the last hash is "
        << absl::BytesToHexString(verdict.last_hash()) << '\n';
  } else {
    out << "audit record " << verdict.first_invalid_seq()
        << " is not as it was written: " << Printable(verdict.problem()) << "; the "
        << verdict.records() << " before it are\n";
  }
}

ExitCode RunVerify(const Invocation& invocation, const RetryPolicy& policy,
                   const std::string& session) {
  return RunStoreCall<v1::VerifyAuditResponse>(
      invocation, policy,
      [&](const Connection& connection, grpc::ClientContext& context, auto& reply) {
        v1::VerifyAuditRequest request;
        request.set_session_id(session);
        return connection.sessions().VerifyAudit(&context, request, &reply);
      },
      [&](const auto& reply) { WriteVerdict(invocation.out, session, reply); },
      [](const auto& reply) { return reply.valid() ? kDone : kDifference; });
}

}  // namespace

void AddStoreCommands(CLI::App& app, Invocation& invocation) {
  const auto policy = std::make_shared<RetryPolicy>();
  CLI::App* store = app.add_subcommand("store", "Describes and checks the store of the server");
  AddDuration(*store, "--patience", policy->patience,
              "How long to retry a call that can be retried");
  store->footer(
      "--patience goes with every command.\n"
      "`holdfast store COMMAND --help` prints the options of a command, with examples.");
  CLI::App* status = store->add_subcommand(
      "status", "Prints which store the server uses, its health, and what it offers");
  status->footer(
      "Exits with 3 when the store does not serve.\n"
      "\nExamples:\n  holdfast store status\n"
      "  holdfast --output json store status | jq -r .status.store_id");
  status->callback([&invocation, policy] {
    invocation.command = [&invocation, policy] { return RunStatus(invocation, *policy); };
  });
  CLI::App* describe =
      store->add_subcommand("describe", "Prints the kind, identity and capabilities of the store");
  describe->footer("Example:\n  holdfast --output json store describe");
  describe->callback([&invocation, policy] {
    invocation.command = [&invocation, policy] { return RunDescribe(invocation, *policy); };
  });
  CLI::App* check = store->add_subcommand(
      "check", "Checks that the store can be written, by writing and removing a probe");
  check->footer(
      "Also lists deleted sessions whose directory has reappeared; the store never reads these.\n"
      "Exits with 3 when the store cannot be read or written, and with 4 when it lists a session.\n"
      "\nExample:\n  holdfast store check");
  check->callback([&invocation, policy] {
    invocation.command = [&invocation, policy] { return RunCheck(invocation, *policy); };
  });
  const auto session = std::make_shared<std::string>();
  CLI::App* verify = store->add_subcommand(
      "verify-audit", "Verifies the hash chain of the audit records of a session");
  verify->add_option("SESSION", *session, "Session id")->type_name("")->required();
  verify->footer(
      "Exits with 4 and prints the first record that was changed, removed or moved.\n"
      "\nExample:\n  holdfast store verify-audit 4f1c2d3e");
  verify->callback([&invocation, policy, session] {
    invocation.command = [&invocation, policy, session] {
      return RunVerify(invocation, *policy, *session);
    };
  });
}

}  // namespace holdfast::cli
