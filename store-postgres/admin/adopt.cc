#include "store-postgres/admin/adopt.h"

#include "platform/status_macros.h"
#include "store-postgres/admin/driver.h"
#include "store-postgres/admin/schema_status.h"

#include "absl/strings/str_cat.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::pg {
namespace {

// Events note the transaction that wrote them, and a server that polls for new ones reads behind a
// number. Events of another cluster may have higher numbers than this cluster has reached; they get
// the lowest number.
constexpr Statement kAdopt = {
    "connection_adopt",
    "WITH passed AS (UPDATE holdfast.feed SET xid = '3' WHERE xid >= pg_current_xact_id()) "
    "UPDATE holdfast.store SET incarnation = incarnation + 1, system_identifier = $1"};

ServerFacts FactsFromRow(const pqxx::row& row) {
  const auto server = [&](ServerFactsColumn column) { return row[static_cast<int>(column)]; };
  return {.version_number = server(kVersionNumber).as<int32_t>(),
          .is_standby = server(kIsStandby).as<bool>(),
          .timeline = server(kTimeline).as<int64_t>(),
          .cluster = server(kCluster).as<int64_t>(),
          .has_our_settings = server(kHasOurSettings).as<bool>(),
          .synchronous_commit = server(kSynchronousCommit).as<std::string>(),
          .standby_names = server(kStandbyNames).as<std::string>(),
          .fsync = server(kFsync).as<std::string>(),
          .full_page_writes = server(kFullPageWrites).as<std::string>()};
}

struct Found {
  Identity identity;
  int64_t cluster = 0;  // that the database is in
};

absl::StatusOr<Found> Look(AdminConnection& connection, std::span<const Migration> known) {
  pqxx::nontransaction transaction(connection.driver());
  const ServerFacts server = FactsFromRow(Execute(transaction, kServerFacts)[0]);
  RETURN_IF_ERROR(CheckServer(connection.Peer(), server));
  RETURN_IF_ERROR(CheckSchema(AppliedIn(transaction), known));
  const pqxx::result rows = Execute(transaction, kStoreFacts);
  if (rows.size() != 1) return NoStore(connection.Peer());
  ASSIGN_OR_RETURN(Identity identity, IdentityFrom(connection.Peer(), rows[0][0].as<std::string>(),
                                                   rows[0][1].as<int64_t>()));
  return Found{.identity = std::move(identity), .cluster = server.cluster};
}

}  // namespace

absl::StatusOr<Identity> Adopt(AdminConnection& connection, std::span<const Migration> known) {
  const std::string what = absl::StrCat("the database at ", connection.Peer());
  std::optional<Identity> adopted;
  const auto adopt = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(Found found, Look(connection, known));
    pqxx::work work(connection.driver());
    Execute(work, kAdopt, found.cluster);
    RETURN_IF_ERROR(connection.Commit(what, work));
    adopted = std::move(found.identity);
    adopted->incarnation = adopted->incarnation.Next();
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(connection.Do(what, adopt));
  return *std::move(adopted);
}

}  // namespace holdfast::pg
