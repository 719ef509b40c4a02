#include "server/stores.h"

#include "platform/status_macros.h"
#include "server/database_admin.h"
#include "server/database_options.h"
#include "session/store_meter.h"
#include "store-fs/fs_store.h"
#include "store-postgres/pg/dsn.h"
#include "store-postgres/postgres_store.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {
namespace {

// What a store is made with beside its own configuration.
struct Surroundings {
  Retention retention;
  Log& log;
  StoreMeter& meter;
};

// A maker of one kind.
struct Kind {
  std::string_view name;
  absl::StatusOr<std::unique_ptr<SessionStore>> (*make)(const StoreConfig& config,
                                                        const Clock& clock, Random& random,
                                                        Surroundings around);
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
                                                     Random& random, Surroundings around) {
  Log& log = around.log;
  fs::FsOptions options = FsOptionsOf(config);
  options.retention = around.retention;
  options.report = [&log](const std::string& cause) {
    log.Error("the store stops", {{"problem", cause}});
  };
  options.report_cut_tail = [&log, &meter = around.meter](const fs::CutTail& tail) {
    meter.TailCut();
    log.Warn("an unfinished write was cut off the end of a file; nothing of it was acknowledged",
             {{"file", tail.file},
              {"bytes", static_cast<int64_t>(tail.bytes)},
              {"tails_cut", static_cast<int64_t>(tail.count)}});
  };
  options.note = [&log](const std::string& what) { log.Warn("the store", {{"problem", what}}); };
  options.meter = &around.meter;
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

absl::StatusOr<std::unique_ptr<SessionStore>> MakePostgres(const StoreConfig& config,
                                                           const Clock& clock, Random& random,
                                                           Surroundings around) {
  ASSIGN_OR_RETURN(pg::ConnectOptions connect, DatabaseOptionsOf(config));
  const pg::PostgresOptions options = {.connect = std::move(connect),
                                       .connections = config.connections,
                                       .group = config.group,
                                       .retention = around.retention,
                                       .report =
                                           [&log = around.log](const std::string& why) {
                                             log.Warn("postgres", {{"problem", why}});
                                           },
                                       .meter = &around.meter};
  return pg::MakePostgresStore(options, clock, random);
}

// Those of the listener and the notifier.
constexpr size_t kConnectionsBesideCalls = 2;

// Every kind that is built in: one row each, and nothing registers itself.
constexpr std::array<Kind, 2> kKinds = {{{"fs", MakeFs}, {"postgres", MakePostgres}}};

}  // namespace

StoreMaker MakerOfStores(const Retention& retention, Log& log, StoreMeter& meter) {
  return
      [retention, &log, &meter](const StoreConfig& config, const Clock& clock,
                                Random& random) -> absl::StatusOr<std::unique_ptr<SessionStore>> {
        for (const Kind& kind : kKinds) {
          if (kind.name == config.kind) {
            const Surroundings around = {
                .retention = retention,
                .log = log,
                .meter = config.active ? meter : StoreMeter::None(),
            };
            return kind.make(config, clock, random, around);
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
std::string DatabaseTransportProblem(const std::string& dsn) { return pg::TransportProblem(dsn); }

absl::StatusOr<StoreDescription> AdoptStore(const Config& config, const Clock& clock,
                                            Random& random) {
  const StoreConfig& active = config.ActiveStore();
  return active.kind == "postgres" ? AdoptDatabase(active) : AdoptDirectory(active, clock, random);
}

}  // namespace holdfast
