#include "server/stores.h"

#include "server/secrets.h"
#include "session/saboteur.h"
#include "session/status_macros.h"
#include "session/store_meter.h"
#include "store-fs/fs_store.h"
#include "store-postgres/connection_check.h"
#include "store-postgres/migrations.h"
#include "store-postgres/pg/connection.h"
#include "store-postgres/pg/dsn.h"
#include "store-postgres/postgres_store.h"
#include "store-postgres/servers.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include <array>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

// Whom a store reports to.
struct Listeners {
  Log& log;
  StoreMeter& meter;
};

// A maker of one kind.
struct Kind {
  std::string_view name;
  absl::StatusOr<std::unique_ptr<SessionStore>> (*make)(const StoreConfig& config,
                                                        const Clock& clock, Random& random,
                                                        Listeners listeners);
};

fs::FsOptions FsOptionsOf(const StoreConfig& config) {
  fs::FsOptions options{.root = config.root,
                        .allow_network_file_system = config.allow_network_file_system};
  if (config.durability == "interval") {
    options.durability = fs::Durability::kInterval;
    options.interval = config.interval;
  }
  return options;
}

absl::StatusOr<std::unique_ptr<SessionStore>> MakeFs(const StoreConfig& config, const Clock& clock,
                                                     Random& random, Listeners listeners) {
  Log& log = listeners.log;
  fs::FsOptions options = FsOptionsOf(config);
  options.report = [&log](const std::string& cause) {
    log.Error("the store stops", {{"problem", cause}});
  };
  options.report_cut_tail = [&log, &meter = listeners.meter](const fs::CutTail& tail) {
    meter.TailCut();
    log.Warn("an unfinished write was cut off the end of a file; nothing of it was acknowledged",
             {{"file", tail.file},
              {"bytes", static_cast<int64_t>(tail.bytes)},
              {"tails_cut", static_cast<int64_t>(tail.count)}});
  };
  options.note = [&log](const std::string& what) { log.Warn("the store", {{"problem", what}}); };
  options.meter = &listeners.meter;
  return fs::MakeFsStore(std::move(options), clock, random);
}

absl::StatusOr<StoreDescription> AdoptDirectory(const StoreConfig& config, const Clock& clock,
                                                Random& random) {
  fs::FsOptions options = FsOptionsOf(config);
  options.adopt = true;
  options.report = [](const std::string& cause) {
    std::cerr << absl::StrCat("holdfastd: the store stops: ", cause, "\n");
  };
  const std::unique_ptr<SessionStore> store = fs::MakeFsStore(std::move(options), clock, random);
  RETURN_IF_ERROR(store->Init());
  StoreDescription description = store->Describe();
  RETURN_IF_ERROR(store->Deactivate());
  store->Dispose();
  return description;
}

std::string Words(const absl::Status& status) { return std::string(status.message()); }

absl::StatusOr<pg::ConnectOptions> ConnectOptionsOf(const StoreConfig& config) {
  pg::ConnectOptions options{.dsn = config.dsn};
  if (!config.password.empty()) {
    ASSIGN_OR_RETURN(const Secret password, ReadPassword(config.password));
    options.password = password.Reveal();
  }
  return options;
}

// A connection for an operator's command, which may take long.
absl::StatusOr<std::unique_ptr<pg::Connection>> ConnectTo(const StoreConfig& config) {
  ASSIGN_OR_RETURN(pg::ConnectOptions options, ConnectOptionsOf(config));
  options.statement_timeout = absl::InfiniteDuration();
  RETURN_IF_ERROR(pg::CheckForPooler(options));
  return pg::Connection::Open(options);
}

// Calls `act` for each enabled store that is in a database, with a connection to it.
absl::Status WithEachDatabase(
    const Config& config,
    const std::function<absl::Status(const StoreConfig&, pg::Connection&)>& act) {
  size_t databases = 0;
  for (const StoreConfig& store : config.stores) {
    if (!store.enabled || store.kind != "postgres") continue;
    ++databases;
    absl::StatusOr<std::unique_ptr<pg::Connection>> connection = ConnectTo(store);
    const absl::Status done = connection.ok() ? act(store, **connection) : connection.status();
    if (!done.ok()) {
      return absl::FailedPreconditionError(absl::StrCat("store ", store.name, ": ", Words(done)));
    }
  }
  if (databases > 0) return absl::OkStatus();
  return absl::FailedPreconditionError("no enabled store of this configuration is in a database");
}

absl::StatusOr<StoreDescription> AdoptDatabase(const StoreConfig& config) {
  ASSIGN_OR_RETURN(const std::unique_ptr<pg::Connection> connection, ConnectTo(config));
  ASSIGN_OR_RETURN(const pg::Identity identity, pg::Adopt(*connection));
  StoreDescription description;
  description.store = identity.store;
  description.incarnation = identity.incarnation;
  return description;
}

absl::StatusOr<std::unique_ptr<SessionStore>> MakePostgres(const StoreConfig& config,
                                                           const Clock& clock, Random& random,
                                                           Listeners listeners) {
  ASSIGN_OR_RETURN(pg::ConnectOptions connect, ConnectOptionsOf(config));
  const pg::PostgresOptions options = {.connect = std::move(connect),
                                       .connections = config.connections,
                                       .group = config.group,
                                       .report =
                                           [&log = listeners.log](const std::string& why) {
                                             log.Warn("postgres", {{"problem", why}});
                                           },
                                       .meter = &listeners.meter};
  return pg::MakePostgresStore(options, clock, random);
}

// Those of the listener and the notifier.
constexpr size_t kConnectionsBesideCalls = 2;

// Every kind that is built in: one row each, and nothing registers itself.
constexpr std::array<Kind, 2> kKinds = {{{"fs", MakeFs}, {"postgres", MakePostgres}}};

}  // namespace

StoreMaker MakerOfStores(Log& log, StoreMeter& meter) {
  return [&log, &meter](const StoreConfig& config, const Clock& clock,
                        Random& random) -> absl::StatusOr<std::unique_ptr<SessionStore>> {
    for (const Kind& kind : kKinds) {
      if (kind.name == config.kind) {
        return kind.make(config, clock, random, {log, config.active ? meter : StoreMeter::None()});
      }
    }
    return absl::InvalidArgumentError("there is no store of this kind in this server");
  };
}

size_t DescriptorsOf(const Config& config) {
  size_t all = 0;
  for (const StoreConfig& store : config.stores) {
    if (!store.enabled) continue;
    const bool database = store.kind == "postgres";
    all += database ? store.connections + kConnectionsBesideCalls : fs::FsOptions{}.open_sessions;
  }
  return all;
}

std::string DatabaseProblem(const std::string& dsn) { return pg::DsnProblem(dsn); }
std::string DatabaseTransportProblem(const std::string& dsn) {
  return Sabotaged(Saboteur::kTrustDatabase) ? "" : pg::TransportProblem(dsn);
}

absl::StatusOr<std::vector<std::string>> MigrateStores(const Config& config) {
  std::vector<std::string> lines;
  const auto migrate = [&](const StoreConfig& store, pg::Connection& connection) -> absl::Status {
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
  const auto read = [&](const StoreConfig& store, pg::Connection& connection) -> absl::Status {
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
    status.lines.push_back(absl::StrCat(
        "store ", store.name, ": ",
        checked.ok() ? absl::StrCat("schema ", applied.size(), " may be served") : Words(checked)));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(WithEachDatabase(config, read));
  return status;
}

absl::StatusOr<StoreDescription> AdoptStore(const Config& config, const Clock& clock,
                                            Random& random) {
  const StoreConfig& active = config.ActiveStore();
  return active.kind == "postgres" ? AdoptDatabase(active) : AdoptDirectory(active, clock, random);
}

}  // namespace holdfast
