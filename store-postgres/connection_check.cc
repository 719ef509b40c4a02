#include "store-postgres/connection_check.h"

#include "platform/status_macros.h"
#include "session/refusal.h"

#include "absl/strings/str_cat.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace holdfast::pg {
namespace {

constexpr int32_t kOldestServer = 150000;

// The timeline is that of what is written now: the one in the control file may be a checkpoint
// behind. CASE keeps a standby from being asked, which has none.
//
// The last column is for the backend's allocator alone. glibc gives the top of the heap back to the
// system whenever 128 KiB of it are free, which each commit would meet, until a larger piece was
// freed once: from then on twice the size of that piece may stay. It is made of 4 KiB at a time: of
// single spaces it takes the backend some 25 ms.
constexpr Statement kLook = {
    "connection_check_server",
    "SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(), "
    "CASE WHEN pg_is_in_recovery() THEN 0 ELSE "
    "('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END, "
    "(SELECT system_identifier FROM pg_control_system()), "
    "coalesce(current_setting('holdfast.connection', true), '') = 'own', "
    "current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), "
    "current_setting('fsync'), current_setting('full_page_writes'), "
    "octet_length(repeat(repeat(' ', 4096), 1024))"};
enum LookColumn : size_t {
  kVersionNumber,
  kIsStandby,
  kTimeline,
  kCluster,
  kHasOurSettings,
  kSynchronousCommit,
  kStandbyNames,
  kFsync,
  kFullPageWrites,
};
constexpr Statement kStore = {
    "connection_check_store",
    "SELECT store_id, incarnation, system_identifier, holdfast.clock() FROM holdfast.store"};
// Events note the transaction that wrote them, and a server that polls for new ones reads behind a
// number. Events of another cluster may have higher numbers than this cluster has reached; they get
// the lowest number.
constexpr Statement kAdopt = {
    "connection_adopt",
    "WITH passed AS (UPDATE holdfast.feed SET xid = '3' WHERE xid >= pg_current_xact_id()) "
    "UPDATE holdfast.store SET incarnation = incarnation + 1, system_identifier = $1"};

struct Look {
  ConnectionCheck check;
  int64_t made_in = 0;  // the cluster that the store knows
  int64_t found_in = 0;
};

Refusal Refused(const Connection& connection, std::string_view why) {
  return StoreUnavailable(
      absl::StrCat("the database at ", connection.Peer(), ": ", std::string(why)), Fate::kNoEffect);
}

absl::StatusOr<Rows> Ask(Connection& connection, const Statement& statement, const Params& params) {
  Answer answer = connection.Run(statement, params);
  if (const auto* failure = std::get_if<Failure>(&answer)) {
    return Refused(connection, failure->text);
  }
  return std::get<Rows>(std::move(answer));
}

absl::Status CheckServer(const Connection& connection, const Rows& server) {
  if (server.Int4(0, kVersionNumber) < kOldestServer) {
    return Refused(connection, "it is older than PostgreSQL 15");
  }
  if (server.Bool(0, kIsStandby)) {
    return Refused(connection,
                   "it is a standby, which takes no writes: name the primary, or all hosts with "
                   "target_session_attrs=read-write");
  }
  if (!server.Bool(0, kHasOurSettings)) {
    return Refused(connection,
                   "the settings that a connection begins with do not arrive: a pooler in between "
                   "drops them");
  }
  if (server.Text(0, kSynchronousCommit) == "off") {
    return Refused(connection,
                   "synchronous_commit is off for this role or database, so that a crash would "
                   "lose what was acknowledged: set it to on");
  }
  return absl::OkStatus();
}

std::vector<std::string> WarningsOf(const Rows& server) {
  std::vector<std::string> warnings;
  const std::string_view waits = server.Text(0, kSynchronousCommit);
  if (server.Text(0, kFsync) == "off" || server.Text(0, kFullPageWrites) == "off") {
    warnings.emplace_back(
        "acknowledged writes may be lost with the database's machine: fsync or full_page_writes "
        "is off");
  }
  if (server.Text(0, kStandbyNames).empty()) {
    warnings.emplace_back(
        "a failover may lose acknowledged writes: synchronous_standby_names is empty");
  } else if (waits == "local") {
    warnings.emplace_back(
        "a failover may lose acknowledged writes: synchronous_commit is local for this role or "
        "database");
  }
  return warnings;
}

absl::StatusOr<Look> LookAt(Connection& connection, std::span<const Migration> known) {
  ASSIGN_OR_RETURN(const Rows server, Ask(connection, kLook, Params()));
  RETURN_IF_ERROR(CheckServer(connection, server));
  connection.set_timeline(static_cast<uint32_t>(server.Int(0, kTimeline)));
  ASSIGN_OR_RETURN(const std::vector<AppliedMigration> applied, ReadApplied(connection));
  RETURN_IF_ERROR(CheckSchema(applied, known));
  ASSIGN_OR_RETURN(const Rows rows, Ask(connection, kStore, Params()));
  const std::optional<StoreId> store =
      rows.size() == 1 ? StoreId::Parse(rows.Text(0, 0)) : std::nullopt;
  if (!store) return Refused(connection, "its table holdfast.store must have one row with an id");
  const Identity identity{.store = *store,
                          .incarnation = Incarnation(static_cast<uint64_t>(rows.Int(0, 1)))};
  return Look{
      .check = {.identity = identity, .now = rows.Time(0, 3), .warnings = WarningsOf(server)},
      .made_in = rows.Int(0, 2),
      .found_in = server.Int(0, kCluster)};
}

}  // namespace

absl::StatusOr<ConnectionCheck> CheckConnection(Connection& connection,
                                                std::span<const Migration> known) {
  ASSIGN_OR_RETURN(Look look, LookAt(connection, known));
  if (look.made_in != look.found_in) {
    return Refused(connection,
                   "it was copied or restored from a backup of another cluster; if this copy alone "
                   "will be used from now on, run: holdfastd store adopt");
  }
  return std::move(look.check);
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

absl::StatusOr<Identity> Adopt(Connection& connection, std::span<const Migration> known) {
  ASSIGN_OR_RETURN(Look look, LookAt(connection, known));
  RETURN_IF_ERROR(Ask(connection, kAdopt, Params().Int(look.found_in)).status());
  Identity adopted = std::move(look.check.identity);
  adopted.incarnation = adopted.incarnation.Next();
  return adopted;
}

}  // namespace holdfast::pg
