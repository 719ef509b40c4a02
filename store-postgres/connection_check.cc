#include "store-postgres/connection_check.h"

#include "platform/status_macros.h"
#include "session/refusal.h"
#include "store-postgres/server_facts.h"

#include <string>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

absl::StatusOr<Rows> AskServer(Connection& connection, const Statement& statement) {
  Answer answer = connection.Run(statement, Params());
  if (const auto* failure = std::get_if<Failure>(&answer)) {
    return RefusedAt(connection.Peer(), failure->text);
  }
  return std::get<Rows>(std::move(answer));
}

ServerFacts FactsFrom(const Rows& server) {
  return {.version_number = server.Int4(0, kVersionNumber),
          .is_standby = server.Bool(0, kIsStandby),
          .timeline = server.Int(0, kTimeline),
          .cluster = server.Int(0, kCluster),
          .has_our_settings = server.Bool(0, kHasOurSettings),
          .synchronous_commit = std::string(server.Text(0, kSynchronousCommit)),
          .standby_names = std::string(server.Text(0, kStandbyNames)),
          .fsync = std::string(server.Text(0, kFsync)),
          .full_page_writes = std::string(server.Text(0, kFullPageWrites))};
}

std::vector<std::string> WarningsOf(const ServerFacts& server) {
  std::vector<std::string> warnings;
  if (server.fsync == "off" || server.full_page_writes == "off") {
    warnings.emplace_back(
        "acknowledged writes may be lost with the database's machine: fsync or full_page_writes "
        "is off");
  }
  if (server.standby_names.empty()) {
    warnings.emplace_back(
        "a failover may lose acknowledged writes: synchronous_standby_names is empty");
  } else if (server.synchronous_commit == "local") {
    warnings.emplace_back(
        "a failover may lose acknowledged writes: synchronous_commit is local for this role or "
        "database");
  }
  return warnings;
}

}  // namespace

absl::StatusOr<ConnectionCheck> CheckConnection(Connection& connection,
                                                std::span<const Migration> known) {
  ASSIGN_OR_RETURN(const Rows looked, AskServer(connection, kServerFacts));
  const ServerFacts server = FactsFrom(looked);
  RETURN_IF_ERROR(CheckServer(connection.Peer(), server));
  connection.set_timeline(static_cast<uint32_t>(server.timeline));
  ASSIGN_OR_RETURN(const std::vector<AppliedMigration> applied, ReadApplied(connection));
  RETURN_IF_ERROR(CheckSchema(applied, known));
  ASSIGN_OR_RETURN(const Rows rows, AskServer(connection, kStoreFacts));
  if (rows.size() != 1) return NoStore(connection.Peer());
  ASSIGN_OR_RETURN(const Identity identity,
                   IdentityFrom(connection.Peer(), rows.Text(0, 0), rows.Int(0, 1)));
  if (rows.Int(0, 2) != server.cluster) {
    return RefusedAt(connection.Peer(),
                     "it was copied or restored from a backup of another cluster; if this copy "
                     "alone will be used from now on, run: holdfastd store adopt");
  }
  return ConnectionCheck{
      .identity = identity, .now = rows.Time(0, 3), .warnings = WarningsOf(server)};
}

absl::Status CheckSame(const Identity& first, const Identity& later) {
  if (first.store != later.store) {
    return StoreUnavailable("the database holds another store than at the start of this server",
                            Fate::kNoEffect);
  }
  if (first.incarnation != later.incarnation) {
    return StoreUnavailable("the store was adopted meanwhile: the server must be restarted",
                            Fate::kNoEffect);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::pg
