#include "cli/health.h"

#include "cli/durations.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/times.h"

#include "CLI/CLI.hpp"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

struct Health {
  bool serving = false;
  v1::StatusResponse status;
};

// A server that is going down still answers; only the health service says that it takes no more
// work.
grpc::Status Ask(const Connection& connection, const Caller& caller, Health& health) {
  HealthCheckResponse check;
  const CallResult checked = caller.Call([&](grpc::ClientContext& context) {
    return connection.health().Check(&context, HealthCheckRequest(), &check);
  });
  if (!checked.status.ok()) return checked.status;
  const CallResult asked = caller.Call([&](grpc::ClientContext& context) {
    return connection.admin().Status(&context, v1::StatusRequest(), &health.status);
  });
  health.serving = check.status() == HealthCheckResponse::SERVING && health.status.serving();
  return asked.status;
}

void WriteHealth(std::ostream& out, const Health& health) {
  const v1::StatusResponse& status = health.status;
  const v1::ResourceUse& held = status.resources();
  std::vector<Row> rows = {
      {"serving", health.serving ? "yes" : "no"},
      {"version", status.version()},
      {"up for", ShortDuration(FromProto(status.uptime()))},
      {"store", status.store_name() + " (" + status.store_kind() + ")"},
      {"store id", status.store_id()},
      {"incarnation", std::to_string(status.incarnation())},
      {"durability", status.durability()},
      {"calls in progress", std::to_string(status.calls_in_progress()) + " (" +
                                std::to_string(status.workers()) + " workers)"},
      {"clients", std::to_string(held.connections()) + " connections, " +
                      std::to_string(held.streams()) + " streams, " +
                      std::to_string(held.watchers()) + " watchers"},
      {"held by calls", std::to_string(held.memory_bytes()) + " bytes of memory, " +
                            std::to_string(held.staged_bytes()) + " bytes staged"},
      {"listing", status.listing_incomplete() ? "being rebuilt" : "complete"},
  };
  if (!status.problem().empty()) rows.push_back({"problem", status.problem()});
  for (const std::string& warning : status.warnings()) rows.push_back({"warning", warning});
  WriteTable(out, rows);
}

ExitCode RunHealth(const Invocation& invocation, const RetryPolicy& policy) {
  const Connection connection(invocation.address);
  Health health;
  const grpc::Status status = Ask(connection, Caller(policy, MachineClock()), health);
  if (!status.ok()) return Refuse(invocation, status);
  if (invocation.json()) {
    nlohmann::ordered_json object = ToJson(health.status);
    object["serving"] = health.serving;
    WriteJson(invocation, object);
  } else {
    WriteHealth(invocation.out, health);
  }
  return health.serving ? kDone : kUnreachable;
}

}  // namespace

void AddHealthCommand(CLI::App& app, Invocation& invocation) {
  const auto policy = std::make_shared<RetryPolicy>(
      RetryPolicy{.patience = absl::ZeroDuration(), .deadline = absl::Seconds(5)});
  CLI::App* command =
      app.add_subcommand("health", "Checks whether the server serves, and prints its status");
  AddDuration(*command, "--wait", policy->patience,
              "How long to wait for a server that cannot be reached");
  command->footer(
      "Exits with 0 when the server serves, and with 3 when it does not serve, cannot be reached,\n"
      "or is not a Holdfast server.\n"
      "\nExample:\n  holdfast health --wait 30s && holdfast session list");
  command->callback([&invocation, policy] {
    invocation.command = [&invocation, policy] { return RunHealth(invocation, *policy); };
  });
}

}  // namespace holdfast::cli
