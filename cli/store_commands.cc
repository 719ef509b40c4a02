#include "cli/store_commands.h"

#include "cli/clock.h"
#include "cli/durations.h"
#include "cli/json.h"
#include "cli/table.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include <memory>
#include <string>
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
  if (!result.status.ok()) {
    const ExitCode refused = Refuse(invocation, result.status);
    return result.status.error_code() == grpc::StatusCode::DATA_LOSS ? kDifference : refused;
  }
  if (invocation.json()) {
    invocation.out << ToJson(reply).dump(2) << '\n';
  } else {
    write(reply);
  }
  return classify(reply);
}

// "PREFIX_NAME" as "name".
std::string Short(const std::string& name, const std::string& prefix) {
  return absl::AsciiStrToLower(name.substr(prefix.size()));
}

std::string YesOrNo(bool value) { return value ? "yes" : "no"; }

void WriteDescription(std::ostream& out, const v1::DescribeStoreResponse& store) {
  const v1::StoreCapabilities& can = store.capabilities();
  WriteTable(out, {{"kind", store.kind()},
                   {"store id", store.store_id()},
                   {"incarnation", absl::StrCat(store.incarnation())},
                   {"contract", store.contract_version()},
                   {"core", store.required_core_version()},
                   {"durability", store.durability()},
                   {"journaling", YesOrNo(can.journaling())},
                   {"snapshot limit", absl::StrCat(can.snapshot_bytes_limit(), " bytes")},
                   {"large slots by stream", YesOrNo(can.large_slot_streaming())},
                   {"concurrent readers", YesOrNo(can.concurrent_readers())},
                   {"loaded", Short(v1::StoreCardinality_Name(store.loaded_cardinality()),
                                    "STORE_CARDINALITY_")},
                   {"active", Short(v1::StoreCardinality_Name(store.active_cardinality()),
                                    "STORE_CARDINALITY_")},
                   {"reload", Short(v1::StoreReloadBehavior_Name(store.reload_behavior()),
                                    "STORE_RELOAD_BEHAVIOR_")}});
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
    rows.push_back({"deleted and there again", Printable(id)});
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
    out << "all " << verdict.records() << " audit records are what was written; the last hash is "
        << absl::BytesToHexString(verdict.last_hash()) << '\n';
  } else {
    out << "audit record " << verdict.first_invalid_seq()
        << " is not what was written: " << verdict.problem() << "; the " << verdict.records()
        << " before it are valid\n";
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
  CLI::App* store = app.add_subcommand("store", "Describes and checks the active store");
  AddDuration(*store, "--patience", policy->patience,
              "How long to repeat a call that may be repeated");
  CLI::App* describe = store->add_subcommand("describe", "Says what the store is and can do");
  describe->footer("Example:\n  holdfast --output json store describe");
  describe->callback([&invocation, policy] {
    invocation.command = [&invocation, policy] { return RunDescribe(invocation, *policy); };
  });
  CLI::App* check =
      store->add_subcommand("check", "Writes something to the store and takes it away again");
  check->footer(
      "Also names deleted sessions whose directory is there again; such a one is never read.\n"
      "Exits 3 when the store cannot be written, 4 when it names one.\n"
      "\nExample:\n  holdfast store check");
  check->callback([&invocation, policy] {
    invocation.command = [&invocation, policy] { return RunCheck(invocation, *policy); };
  });
  const auto session = std::make_shared<std::string>();
  CLI::App* verify = store->add_subcommand(
      "verify-audit", "Says whether every audit record of a session is what was written");
  verify->add_option("SESSION", *session, "The session's id")->required();
  verify->footer(
      "Exits 4 and names the first record that is changed, missing, or in another place.\n"
      "\nExample:\n  holdfast store verify-audit 4f1c2d3e");
  verify->callback([&invocation, policy, session] {
    invocation.command = [&invocation, policy, session] {
      return RunVerify(invocation, *policy, *session);
    };
  });
}

}  // namespace holdfast::cli
