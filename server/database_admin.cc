#include "server/database_admin.h"

#include "platform/status_macros.h"
#include "server/database_options.h"
#include "store-postgres/admin/adopt.h"
#include "store-postgres/admin/connection.h"
#include "store-postgres/admin/migrate.h"
#include "store-postgres/admin/schema_status.h"
#include "store-postgres/connection_check.h"
#include "store-postgres/migrations.h"
#include "store-postgres/servers.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// A connection for an operator's command, which may take long.
absl::StatusOr<std::unique_ptr<pg::AdminConnection>> ConnectTo(const StoreConfig& config) {
  ASSIGN_OR_RETURN(pg::ConnectOptions options, DatabaseOptionsOf(config));
  options.statement_timeout = absl::InfiniteDuration();
  RETURN_IF_ERROR(pg::CheckForPooler(options));
  return pg::AdminConnection::Open(options);
}

// Calls `act` for each enabled store that is in a database, with a connection to it.
absl::Status WithEachDatabase(
    const Config& config,
    const std::function<absl::Status(const StoreConfig&, pg::AdminConnection&)>& act) {
  size_t databases = 0;
  for (const StoreConfig& store : config.stores) {
    if (!store.enabled || store.kind != "postgres") continue;
    ++databases;
    absl::StatusOr<std::unique_ptr<pg::AdminConnection>> connection = ConnectTo(store);
    const absl::Status done = connection.ok() ? act(store, **connection) : connection.status();
    if (!done.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("store ", store.name, ": ", MessageOf(done)));
    }
  }
  if (databases > 0) return absl::OkStatus();
  return absl::FailedPreconditionError("no enabled store of this configuration is in a database");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MigrateDatabases(const Config& config) {
  std::vector<std::string> lines;
  const auto migrate = [&](const StoreConfig& store,
                           pg::AdminConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const int taken, pg::Migrate(connection));
    lines.push_back(absl::StrCat("store ", store.name, ": schema ", pg::NeededSchema(), ", ", taken,
                                 taken == 1 ? " step" : " steps", " taken"));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(WithEachDatabase(config, migrate));
  return lines;
}

absl::StatusOr<SchemaStatus> ReadSchemas(const Config& config) {
  SchemaStatus status;
  const auto read = [&](const StoreConfig& store, pg::AdminConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<pg::AppliedMigration> applied, pg::ReadApplied(connection));
    for (const pg::AppliedMigration& step : applied) {
      status.lines.push_back(absl::StrCat("store ", store.name, ": step ", step.version, " ",
                                          step.name, " taken at ", absl::FormatTime(step.at)));
    }
    ASSIGN_OR_RETURN(const std::vector<pg::ServingServer> serving, pg::ReadServing(connection));
    for (const pg::ServingServer& server : serving) {
      status.lines.push_back(absl::StrCat("store ", store.name, ": ", pg::Describe(server)));
    }
    const absl::Status checked = pg::CheckSchema(applied);
    status.serves = status.serves && checked.ok();
    status.lines.push_back(
        absl::StrCat("store ", store.name, ": ",
                     checked.ok() ? absl::StrCat("schema ", applied.size(), " may be served")
                                  : MessageOf(checked)));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(WithEachDatabase(config, read));
  return status;
}

absl::StatusOr<StoreDescription> AdoptDatabase(const StoreConfig& config) {
  ASSIGN_OR_RETURN(const std::unique_ptr<pg::AdminConnection> connection, ConnectTo(config));
  ASSIGN_OR_RETURN(const pg::Identity identity, pg::Adopt(*connection));
  StoreDescription description;
  description.store = identity.store;
  description.incarnation = identity.incarnation;
  return description;
}

}  // namespace holdfast
